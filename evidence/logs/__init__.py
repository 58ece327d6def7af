"""Training logs of both frameworks and of other programs, aligned by step and judged by the published standard.

One module a step of the answer:

- `sources` turns a name on the command line (a file, a directory of workers, an event file, something compressed)
  into streams; `log_reader` reads them into a `Run` (`run`): one array a column, sorted by step, each step once.
- `columns` names the columns of a training line; `training_lines` reads the lines of one form (`line_forms`) from
  chunks of bytes.
- `event_files` reads TensorBoard's event files, `local_norms` the norms of single parameters.
- `alignment` puts two runs side by side by step, never by position: Megatron's loss is the mean of its log interval,
  so the other side is averaged over the same steps; its learning rate is the next step's. It picks the losses that may
  be compared: MindSpore Transformers' loss contains the auxiliary losses, Megatron's `lm loss` does not.
- `departure` locates wrong single steps and the step from which two curves stay apart; `verdict_evidence` compares the
  other columns and lists what cannot be compared.
- `verdict` judges by the standard, by the learning-rate-0 experiment or by the band of two benchmark runs;
  `comparison` is all of it for several runs.

A value that a line does not have is `ABSENT`. NaN and infinities stay in the run and make it a bad one: Megatron
leaves a NaN mean out of its line, so a line without its loss is read as NaN unless every iteration was skipped.
Nothing that looks like a training line is dropped: what cannot be read is a `Problem` with file and line.
"""
