import { numbers, wordDeltas } from '../server/scenario.ts'

/** The last words of every answer. A page that shows them has shown all of it. */
export const lastWords = 'This is the end of it.'

/**
 * Markdown as models write it, of exactly this length and always the same: headings, prose, lists,
 * code, tables, quotes.
 */
export function longAnswer(length: number): string {
  const next = numbers(7)
  const vocabulary = wordDeltas(2000)
    .map((word) => word.replaceAll(/[^a-zéï]/g, ''))
    .filter(Boolean)
  const pick = (count: number) => Math.floor(next() * count)
  const word = () => vocabulary[pick(vocabulary.length)] ?? 'word'
  const words = (count: number) => Array.from({ length: count }, word).join(' ')
  const some = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => line(index)).join('\n')

  const prose = () =>
    `${words(20)} **${words(2)}** ${words(15)} \`${word()}()\` ${words(10)}. *${words(1)}*, [${words(2)}](https://example.com/${word()}) ${words(25)}.`
  const code = () =>
    `\`\`\`ts\n${some(4 + pick(30), (line) => `  if (${word()} < ${line}) return ${word()}('${words(3)}') // ${words(4)}`)}\n\`\`\``
  const table = () =>
    `| ${word()} | ${word()} | ${word()} |\n|---|--:|:-:|\n${some(3 + pick(8), (row) => `| ${words(2)} | ${row * 7} | **${word()}** |`)}`
  const blocks = [
    () => `## ${words(4)}`,
    prose,
    prose,
    () => some(3 + pick(5), () => `- ${words(9)} \`${word()}\``),
    prose,
    code,
    () => some(3 + pick(3), (item) => `${item + 1}. ${words(8)}\n   - ${words(6)}`),
    table,
    () => some(2, () => `> ${words(12)}`),
  ]

  const ending = `\n\n${lastWords}\n`
  let text = ''
  for (let at = 0; text.length < length; at++) text += `${blocks[at % blocks.length]?.() ?? ''}\n\n`
  return text.slice(0, Math.max(0, length - ending.length)) + ending
}

/** Cut without regard for words, as tokens are. */
export function cut(text: string, count: number): string[] {
  const place = (index: number) => Math.round((index * text.length) / count)
  return Array.from({ length: count }, (_, index) => text.slice(place(index), place(index + 1)))
}
