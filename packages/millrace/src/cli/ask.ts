import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { openConversation } from './conversation.ts'
import { readDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { approvalHints } from './hints.ts'
import { jsonLine } from './json-lines.ts'
import { logLinesOn } from './log-lines.ts'
import type { Output } from './output.ts'
import { showAnswer } from './show-answer.ts'
import { joinQuestion, textFromStdin } from './stdin.ts'
import { cleanLine } from './terminal/index.ts'
import { verboseLogs } from './verbose.ts'

/** Answers one question. Without a question it opens a chat, if there is a terminal. */
export async function ask({ words, flags }: CommandLine, output: Output): Promise<number> {
  const { stdin, stdout } = process
  if (flags.timeout !== undefined) readDuration(flags.timeout, '--timeout')
  const piped = stdin.isTTY
    ? ''
    : await textFromStdin({
        onSilence: () =>
          flags.quiet || output.note('waiting for stdin to close; to run without it: millrace … < /dev/null'),
      })
  const question = joinQuestion(words.join(' '), piped)
  if (!question) {
    if (!stdin.isTTY || !stdout.isTTY || flags.json)
      throw invalidInput('millrace', 'nothing to ask: pass a question, or run millrace --help')
    const { openChat } = await import('./open-chat.ts')
    return openChat(flags, output)
  }

  const logLines = logLinesOn(output)
  const conversation = await openConversation(flags, { telemetry: verboseLogs(flags, logLines) })
  try {
    if (conversation.local?.why && !flags.quiet && process.stderr.isTTY)
      output.note(cleanLine(conversation.local.why))
    const waiting =
      flags.thread !== undefined && !flags.new
        ? (await conversation.thread.state({ bytes: 0 })).approvals
        : []
    if (waiting.length > 0) {
      // The model would see it only after the decision, which cannot be made here.
      const what = waiting.every(({ wants }) => wants) ? 'a result from a client' : 'approval'
      output.note(`the question was not sent: this thread is waiting for ${what}`)
      if (flags.json)
        output.print(
          jsonLine({
            result: { threadId: conversation.thread.id, outcome: 'suspended', text: '', approvals: waiting },
          }),
        )
      for (const hint of approvalHints(conversation.thread.id, flags, waiting)) output.note(hint)
      return exitCodes.waiting
    }
    const seq = await conversation.thread.send(question)
    return await showAnswer(conversation, { flags, output, logLines, after: seq - 1, seq })
  } finally {
    await conversation.app.close({ graceMs: 0 })
  }
}
