import type { ScriptRound } from 'millrace/testing'

/** A conversation with reasoning, Markdown, successful and failed calls, and an approval. */
export const everything: ScriptRound[] = [
  [
    { reasoning: 'Two orders. I look both up, and ask the carrier.' },
    {
      text: 'Let me **look**:\n\n- one\n- two\n\n```ts\nconst order = 42\n```\n\n| order | state |\n| --- | --- |\n| 42 | there |\n',
    },
    { call: 'lookup_order', input: { id: 'ORD-42' } },
    { call: 'lookup_order', input: { id: 'ORD-99' } },
    { call: 'lookup_order', input: { id: 'none' } },
  ],
  [
    { text: 'One of them is not there. May I refund the other?' },
    { call: 'refund_order', input: { id: 'ORD-42' } },
  ],
  'It is done. See [the terms](https://example.org/terms).',
]
