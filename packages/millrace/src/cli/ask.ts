import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { asidesOn } from './asides.ts'
import { readDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { decisionHints } from './hints.ts'
import { jsonLine } from './json-lines.ts'
import type { Output } from './output.ts'
import { showReply } from './reply.ts'
import { joinQuestion, textFromStdin } from './stdin.ts'
import { openTalk } from './talk.ts'
import { cleanLine } from './terminal/index.ts'
import { verboseLogs } from './verbose.ts'

/** One question, one answer. Without a question it is a chat, if there is a terminal for it. */
export async function ask({ words, flags }: CommandLine, output: Output): Promise<number> {
  const { stdin, stdout } = process
  if (flags.timeout !== undefined) readDuration(flags.timeout, '--timeout')
  const piped = stdin.isTTY
    ? ''
    : await textFromStdin({
        onSilence: () =>
          flags.quiet ||
          output.tell('waiting for the end of stdin; to go on without it: millrace … < /dev/null'),
      })
  const question = joinQuestion(words.join(' '), piped)
  if (!question) {
    if (!stdin.isTTY || !stdout.isTTY || flags.json)
      throw invalidInput('millrace', 'there is no question: millrace "question", or millrace --help')
    const { openChat } = await import('./open-chat.ts')
    return openChat(flags, output)
  }

  const asides = asidesOn(output)
  const talk = await openTalk(flags, { telemetry: verboseLogs(flags, asides) })
  try {
    if (talk.here?.why && !flags.quiet && process.stderr.isTTY) output.tell(cleanLine(talk.here.why))
    const waiting =
      flags.thread !== undefined && !flags.new ? (await talk.thread.state({ bytes: 0 })).approvals : []
    if (waiting.length > 0) {
      // It would not be heard before somebody has decided, and whoever waits here cannot.
      output.tell('the question was not put: the thread waits for a person')
      if (flags.json)
        output.say(
          jsonLine({
            result: { threadId: talk.thread.id, outcome: 'suspended', text: '', approvals: waiting },
          }),
        )
      for (const hint of decisionHints(talk.thread.id, flags, waiting)) output.tell(hint)
      return exitCodes.waiting
    }
    const seq = await talk.thread.send(question)
    return await showReply(talk, { flags, output, asides, after: seq - 1, seq })
  } finally {
    await talk.app.close({ graceMs: 0 })
  }
}
