"""Training logs of both frameworks, aligned by step and judged by the published standard.

How an answer comes about, one module a step:

- `columns` names what a training line may hold and what accmap calls it; `training_lines` reads the lines of one form
  from chunks of bytes, `megatron_lines` and `mindformers_lines` are those forms; `event_files` and `event_tags` read
  TensorBoard event files; `local_norms` reads and matches the norms of single parameters.
- `sources` turns a name on the command line (a file, a directory of workers, an event file, something compressed)
  into streams; `reading` reads them into a `Run` (`run`): one array a column, sorted by step, each step once.
- `composition` says which loss of two runs may be compared: MindSpore Transformers' loss contains the auxiliary
  losses, Megatron's `lm loss` does not.
- `alignment` puts two runs side by side by step, never by position: Megatron's loss is the mean of its log interval,
  so the other side is averaged over the same steps; its learning rate is the next step's.
- `departure` locates spikes and the step from which two curves stay apart; `verdict` judges by the standard, by the
  learning-rate-0 experiment or by the band of two benchmark runs; `comparing` is all of it for several runs.

A value that a line does not have is `ABSENT`. NaN and infinities stay in the run and make it a bad one: Megatron
leaves a NaN mean out of its line, so a line without its loss is read as NaN unless every iteration was skipped.
Nothing that looks like a training line is dropped: what cannot be read is a `Problem` with file and line.
"""
