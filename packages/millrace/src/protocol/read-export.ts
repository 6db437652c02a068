import { checkVersion } from './check.ts'
import { invalidInput } from './errors.ts'
import { isObject } from './json.ts'
import type { ExportedThread } from './thread-export.ts'
import { exportMark } from './thread-html.ts'

const op = 'readExport'
const howTo = 'export one with `millrace export ID --format json` or `--format html`'

/**
 * Reads the text of a file with an exported thread, JSON or HTML. Throws `invalid_input` on anything
 * else. The entries are checked when the thread is imported.
 */
export function readExport(text: string): ExportedThread {
  const content = text.replace(/^\ufeff/, '').trim()
  if (content === '') throw invalidInput(op, `the file is empty: ${howTo}`)
  const exported = parse(content.startsWith('<') ? jsonIn(content) : content)
  if (!isObject(exported) || typeof exported.version !== 'number')
    throw invalidInput(op, `this JSON is not an exported thread: ${howTo}`)
  checkVersion(exported.version, op)
  if (!Array.isArray(exported.entries) || !isObject(exported.thread))
    throw invalidInput(op, `this is only the transcript of a thread, without its log: ${howTo}`)
  return exported as unknown as ExportedThread
}

function jsonIn(html: string): string {
  const mark = html.indexOf(exportMark)
  const start = mark + exportMark.length
  const end = html.indexOf('</script>', start)
  if (mark === -1 || end === -1)
    throw invalidInput(op, `this HTML file contains no exported thread: ${howTo}`)
  return html.slice(start, end)
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw invalidInput(op, `this file is neither JSON nor HTML with an exported thread: ${howTo}`, cause)
  }
}
