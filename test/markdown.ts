export interface Block {
  /**
   * The line of the opening fence, counted from 1: line n of the code is line `line + n` of the
   * document.
   */
  readonly line: number
  readonly closingLine: number
  /** The text after the opening fence: `ts`, `ts fragment`, … */
  readonly info: string
  readonly code: string
}

export interface Markdown {
  readonly blocks: readonly Block[]
  /**
   * Every line of the document. Lines of fenced blocks are empty, so that indexes stay line
   * numbers.
   */
  readonly prose: readonly string[]
}

const fence = /^(?<indent>\s*)(?<marks>`{3,}|~{3,})(?<info>.*)$/

export function parseMarkdown(source: string): Markdown {
  const lines = source.split(/\r?\n/)
  const prose: string[] = []
  const blocks: Block[] = []
  let open: { line: number; indent: number; marks: string; info: string } | undefined

  lines.forEach((text, index) => {
    const { indent = '', marks = '', info = '' } = fence.exec(text)?.groups ?? {}
    prose.push(open || marks ? '' : text)
    if (!open) {
      if (marks) open = { line: index + 1, indent: indent.length, marks, info: info.trim() }
      return
    }
    if (!marks.startsWith(open.marks) || info.trim() !== '') return
    const { line, indent: width } = open
    const code = lines.slice(line, index).map((one) => one.replace(new RegExp(`^\\s{0,${width}}`), ''))
    blocks.push({
      line,
      closingLine: index + 1,
      info: open.info,
      code: code.map((one) => `${one}\n`).join(''),
    })
    open = undefined
  })

  if (open) throw new Error(`line ${open.line}: the block that starts here is never closed`)
  return { blocks, prose }
}
