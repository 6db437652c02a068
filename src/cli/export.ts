import type { Entry } from '../protocol/index.ts'
import { invalidInput, writeTranscript } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { safeJson } from './json-lines.ts'
import { markdownOf } from './markdown-export.ts'
import type { Output } from './output.ts'
import { threadAt } from './threads-at.ts'

/** Writes a thread to stdout, to be read by people or by programs. */
export async function exportThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  const { format = 'md' } = flags
  if (id === undefined)
    throw invalidInput('millrace', 'millrace export takes the id of a thread: millrace threads lists them')
  if (format !== 'md' && format !== 'json')
    throw invalidInput('millrace', `--format takes md or json, not '${format}'`)
  const { app, thread } = await threadAt(flags.data, id)
  try {
    const { messages, usage, ...view } = await thread.state()
    if (format === 'md') output.say(markdownOf({ ...view, messages, usage }))
    else {
      const entries: Entry[] = []
      for (
        let page = await thread.read();
        page.length > 0;
        page = await thread.read({ after: page.at(-1)?.seq })
      )
        entries.push(...page)
      const { id, agent, user, metadata, forkedFrom, createdAt, updatedAt } = view
      const info = { id, agent, user, metadata, forkedFrom, createdAt, updatedAt }
      // A transcript that `readTranscript()` takes, and the log it was made of.
      output.say(`${safeJson({ ...writeTranscript(messages), thread: info, usage, entries }, 2)}\n`)
    }
    return exitCodes.ok
  } finally {
    await app.close()
  }
}
