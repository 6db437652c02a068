import { exportThread as exported, invalidInput, wholeLog } from '../protocol/index.ts'
import { threadHtml } from '../server/index.ts'
import type { Thread } from '../threads/index.ts'
import { testScript } from '../threads/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { exportFeedback } from './export-feedback.ts'
import { safeJson } from './json-lines.ts'
import { markdownOf } from './markdown-export.ts'
import { missingThreadId, openThread } from './open-threads.ts'
import type { Output } from './output.ts'

const formats: Readonly<Record<string, (thread: Thread) => Promise<string>>> = {
  md: async (thread) => markdownOf(await thread.state()),
  json: async (thread) => `${safeJson(await exported(thread), 2)}\n`,
  html: async (thread) => threadHtml(await exported(thread, { split: true })),
  test: async (thread) => testScript(await wholeLog(thread)),
}

/**
 * Prints a thread as Markdown, as JSON, as an HTML page or as a test that replays it; with
 * `--feedback`, the answers that users rated.
 */
export async function exportThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (flags.feedback) return exportFeedback({ words, flags }, output)
  const { format: name = 'md' } = flags
  if (id === undefined) throw missingThreadId('export')
  const format = Object.hasOwn(formats, name) ? formats[name] : undefined
  if (!format)
    throw invalidInput(
      'millrace',
      `--format must be one of ${Object.keys(formats).join(', ')}, not '${name}'`,
    )
  const { app, thread } = await openThread(flags, id)
  try {
    output.print(await format(thread))
    return exitCodes.ok
  } finally {
    await app.close()
  }
}
