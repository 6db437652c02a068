import { fstatSync } from 'node:fs'
import type { ApprovalRequestEvent } from '../protocol/index.ts'
import { limitText, nothingSpent, noUsage, toMillraceError, totalCost } from '../protocol/index.ts'
import type { RunSummary } from '../view/index.ts'
import type { AnswerView } from './answer-view.ts'
import { askApproval } from './ask-approval.ts'
import { dimmed, wantsColor } from './colors.ts'
import type { Conversation } from './conversation.ts'
import { costLine } from './cost-line.ts'
import { readDuration } from './duration.ts'
import { exitCodes, exitOfRun } from './exit-codes.ts'
import type { Flags } from './flags.ts'
import type { FollowedAnswer } from './follow-answer.ts'
import { followAnswer } from './follow-answer.ts'
import { approvalHints, resumeHint } from './hints.ts'
import type { Interruption } from './interrupts.ts'
import { jsonLine } from './json-lines.ts'
import type { LogLines } from './log-lines.ts'
import type { Output } from './output.ts'
import { plainView } from './plain-view.ts'
import { cleanLine } from './terminal/index.ts'
import { terminalView } from './terminal-view.ts'

interface ShowAnswerOptions {
  readonly flags: Flags
  readonly output: Output
  readonly logLines: LogLines
  readonly after: number
  readonly seq?: number
}

/** How long to wait for the answer to start before saying why it has not. */
const noticeAfterMs = 3000

/**
 * Shows the answer that follows `after` in the log, as text or JSON, and prints to stderr how to
 * continue. Returns the exit code.
 */
export async function showAnswer(
  conversation: Conversation,
  { flags, output, logLines, after, seq }: ShowAnswerOptions,
): Promise<number> {
  const { thread } = conversation
  const { json = false, quiet = false } = flags
  const { stdin, stdout, stderr } = process
  const timeoutMs = flags.timeout === undefined ? undefined : readDuration(flags.timeout, '--timeout')
  const view = json ? undefined : viewFor(output, { quiet })
  if (!quiet) for (const notice of conversation.local?.notices ?? []) output.note(cleanLine(notice))
  let unpriced: string | undefined
  const canAsk = stdin.isTTY && stderr.isTTY && !json
  if (stdout.isTTY && stderr.isTTY && view) logLines.hold()

  const waiting = setTimeout(async () => {
    const why = quiet ? undefined : await waitingReason(conversation).catch(() => undefined)
    if (why) output.note(why)
  }, noticeAfterMs)
  const { summary, interruption } = await followAnswer(thread, {
    output,
    after,
    ...(seq !== undefined && { seq }),
    timeoutMs,
    failure: conversation.failure,
    onEntry(entry, change) {
      if (change) clearTimeout(waiting)
      const ended = change?.round?.end
      if (ended && !ended.cost) unpriced = ended.model
      if (!view) output.print(jsonLine(entry))
      else if (change) view.take(change)
    },
    ...(canAsk && {
      decide(request, signal) {
        view?.end()
        logLines.flush()
        return askApproval(request, signal)
      },
    }),
  })
    .catch((thrown: unknown): FollowedAnswer => ({ summary: failedSummary(thrown) }))
    .finally(() => {
      clearTimeout(waiting)
      view?.end()
      logLines.release()
    })

  const approvals = summary.outcome === 'suspended' ? (await thread.state({ bytes: 0 })).approvals : []
  const result = { ...withTimeout(summary, interruption), approvals }
  if (json)
    output.print(jsonLine({ result: { threadId: thread.id, ...(seq !== undefined && { seq }), ...result } }))
  const cost = stderr.isTTY && !quiet && !json ? costLine({ ...result, unpriced }) : ''
  if (cost) output.note(dimmed(cost))
  for (const line of closingLines(thread.id, flags, { result, interruption })) output.note(line)
  if (!interruption && stderr.isTTY && !quiet && result.outcome === 'completed')
    output.note(dimmed(resumeHint(thread.id, flags)))
  return interruption?.exit ?? exitOfRun({ outcome: result.outcome, code: result.error?.code })
}

function viewFor(output: Output, { quiet }: { quiet: boolean }): AnswerView {
  const { stdout, stderr } = process
  const interleaved = stdout.isTTY && stderr.isTTY
  if (interleaved && process.env.TERM !== 'dumb')
    return terminalView(stdout, { color: wantsColor(stdout), quiet })
  const note = quiet ? undefined : (line: string) => output.note(dimmed(line))
  return plainView({ print: output.print, note, interleaved, hold: isFile(stdout.fd) })
}

/** A pipe may be read while text streams in. A file is read later. */
function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    // The parent process closed it.
    return false
  }
}

/** With `--json`, these errors are part of the result too. */
function failedSummary(thrown: unknown): RunSummary {
  const error = toMillraceError(thrown, { op: 'millrace', code: 'store_error' }).toJSON()
  return { outcome: 'failed', text: '', usage: noUsage, cost: totalCost(nothingSpent()), rounds: 0, error }
}

interface Result extends RunSummary {
  readonly approvals: readonly ApprovalRequestEvent[]
}

/** Reports a run that was stopped by `--timeout` as timed out. */
function withTimeout(summary: RunSummary, interruption: Interruption | undefined): RunSummary {
  if (interruption?.exit !== exitCodes.timeout || summary.outcome === 'completed') return summary
  const error = { op: 'millrace', code: 'timeout', message: interruption.reason, retryable: true } as const
  return { ...summary, error }
}

/** What the user needs to know at the end, even with `--quiet`. */
function closingLines(
  threadId: string,
  flags: Flags,
  { result, interruption }: { result: Result; interruption: Interruption | undefined },
): string[] {
  const resume = resumeHint(threadId, flags)
  if (interruption)
    return interruption.exit === exitCodes.ok
      ? []
      : [`${interruption.reason}; the partial answer is saved`, resume]
  if (result.outcome === 'suspended') return approvalHints(threadId, flags, result.approvals)
  if (result.outcome === 'completed') return []
  const { error, limit, outcome } = result
  const why = error ? cleanLine(error.message) : limit ? limitText(limit) : outcomeMessages[outcome]
  return [`millrace: ${why ?? outcome}`, resume]
}

const outcomeMessages: Partial<Record<RunSummary['outcome'], string>> = {
  'max-rounds': 'the agent reached its round limit',
  truncated: 'the answer was cut off at its length limit',
  canceled: 'the answer was stopped',
}

async function waitingReason({ thread, local, agent }: Conversation): Promise<string | undefined> {
  const { status } = await thread.info()
  if (status === 'running')
    return local ? undefined : 'another message in this thread is being answered; waiting'
  return local
    ? 'another process is working on this thread; waiting for it, or for its lease to expire'
    : `waiting for the agent '${cleanLine(agent)}': no process is running it. Is its server running?`
}
