"""Training data: what the files hold, and which samples each framework draws from them.

Two runs train alike only if every step sees the same tokens. Both frameworks read the same pair of files, an `.idx`
that says where each sequence lies and a `.bin` with the token ids, and both draw samples in an order that follows
from a seed. Nothing of that needs a framework, so both sides are worked out here and laid side by side:

    text of a configuration ──▶ Plan ─┐
                                      ├─▶ Draws ──▶ comparison of the first samples, step by step
    .idx/.bin ──▶ IndexedFile ────────┘
                     └─▶ scan of the tokens: ids, special ids, document ends

- `indexed_file`: the `.idx` and `.bin` of one prefix, checked byte by byte before anything is believed.
- `mindrecord`: MindSpore's own form, whose rows are the samples.
- `dataset`: checks of the tokens of one data set: ids outside the vocabulary, document ends, special ids.
- `tokenizer`: sizes, special tokens and text from a `tokenizer.json`, without a package; two compared.
- `plan`: what is asked of the data, and how datasets are mixed; `framework_plans`: what a configuration asks, with the
  place of each value.
- `draws`: the samples of one plan, shuffled and cut, and their order in steps.
- `agreement`: two plans side by side, and problems between two runs.
- `check`: all of it for the files of a command line, as one `Report`, and the tokens of single steps.

The order of samples depends on NumPy's generator, so NumPy is needed (the extra `accmap[evidence]`). A file is never
mapped and trusted: every size is compared with the file's before it is used, and tokens are read in chunks.

Sources: Megatron-Core 0.12 to 0.19 `core/datasets` and MindFormers 1.6 to 2.1 `dataset/blended_datasets`. The index of
one dataset is the same in all of them. What differs is how many samples a weighted dataset is asked for (`plan`),
which can change the number of epochs and with it the order, and how a step is spread over devices (`draws`).
"""
