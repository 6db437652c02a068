import { stripTypeScriptTypes } from 'node:module'
import { type Block, type Markdown, parseMarkdown } from './markdown.ts'

export interface Program {
  /** The document's path from the root, and the line of the opening fence. */
  readonly doc: string
  readonly line: number
  readonly code: string
  /** The expected output in the document. */
  readonly expected?: string
  /** It runs in a browser: a block marked ```tsx. */
  readonly isPage?: true
}

/** The blocks marked ```ts, each with the ```text that follows it, and those marked ```tsx. */
export function programsOf(doc: string, source: string): Program[] {
  const markdown = parseMarkdown(source)
  return markdown.blocks.flatMap((block, index) => {
    const program = { doc, line: block.line, code: block.code }
    if (block.info === 'tsx') return [{ ...program, isPage: true as const }]
    if (block.info !== 'ts') return []
    const next = markdown.blocks[index + 1]
    return [next && isOutput(markdown, block, next) ? { ...program, expected: tidy(next.code) } : program]
  })
}

/** Output follows its program directly; one line of prose may introduce it. */
function isOutput({ prose }: Markdown, program: Block, next: Block): boolean {
  const between = prose.slice(program.closingLine, next.line - 1).filter((line) => line.trim() !== '')
  return next.info === 'text' && between.length <= 1 && !between.some((line) => line.startsWith('#'))
}

/** Removes invisible whitespace before a comparison. */
export function tidy(output: string): string {
  return output
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()
}

/** Problems of the blocks that do not run, one line each, with their places. */
export function blockFaults(doc: string, source: string): string[] {
  return parseMarkdown(source).blocks.flatMap(({ line, info, code }) => {
    const fault = blockFault(info, code)
    return fault === undefined ? [] : [`${doc}:${line}: ${fault}`]
  })
}

function blockFault(info: string, code: string): string | undefined {
  if (info === 'ts' || info === 'tsx') return undefined
  if (info === 'ts fragment') return messageOf(() => stripTypeScriptTypes(code))
  if (info === 'json') return jsonFault(code)
  if (info === '') return 'name the language of the block: ts, ts fragment, json, sh, text, …'
  // With another name, a program would not run.
  if (/^(ts|tsx|mts|cts|typescript|js|jsx|mjs|cjs|javascript)\b/i.test(info)) {
    return `open the block with \`ts\` or \`tsx\`, so that it is run, or with \`ts fragment\`, not with \`${info}\``
  }
  return undefined
}

/** A block is one JSON value, or one on each line, as in a log. */
function jsonFault(code: string): string | undefined {
  const whole = messageOf(() => JSON.parse(code))
  const lines = code.split('\n').filter((line) => line.trim() !== '')
  return whole === undefined ||
    (lines.length > 1 && lines.every((line) => !messageOf(() => JSON.parse(line))))
    ? undefined
    : whole
}

function messageOf(attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The file name of a program. */
export function fileOf({ doc, line, isPage }: Pick<Program, 'doc' | 'line' | 'isPage'>): string {
  return `${doc.replace(/\.md$/, '').replaceAll('/', '.')}-${line}.${isPage ? 'tsx' : 'ts'}`
}

/** Maps the compiler's `file.ts(3,5): error …` to the lines of the documents. */
export function diagnosticsInDocs(output: string, programs: readonly Program[]): string[] {
  const places = new Map(programs.map((program) => [fileOf(program), program]))
  const found: string[] = []
  for (const text of output.split('\n').filter((line) => line.trim() !== '')) {
    const [, file = '', line = '', column = '', message = ''] = /^(.+)\((\d+),(\d+)\): (.*)$/.exec(text) ?? []
    const program = places.get(file)
    if (program) found.push(`${program.doc}:${program.line + Number(line)}:${column}: ${message}`)
    // The compiler explains a diagnostic on the indented lines below it.
    else if (/^\s/.test(text) && found.length > 0) found[found.length - 1] += `\n${text}`
    else found.push(text)
  }
  return found
}

const strippingWarning =
  /^\(node:\d+\) ExperimentalWarning: Type Stripping .*\n(\(Use `node --trace-warnings .*\n)?/m

/**
 * Earlier releases of Node warn about type stripping; everything else on stderr is from the
 * program.
 */
export function withoutStrippingWarning(stderr: string): string {
  return stderr.replace(strippingWarning, '')
}
