"""The accuracy guide as a directory for one pair: stages, files, commands, acceptance, and what has been done.

`stages.yaml` is the guide in a form that can be carried out. A stage has checks. A check says what a person does
first (`do`), which files that leaves behind (`needs`), which accmap command judges them (`judge`), what is accepted
and what to do where it is not. `plan.py` picks the checks that concern a pair (the ladder's rungs that give something
back, experts, a tied head …), writes them down in both languages and says where a directory stands: each check waits
for files, is ready to be judged, or has been. Nothing in a playbook's directory is executed:
`plan.json` only names the checks and the pair, and the commands come from the table.
"""
