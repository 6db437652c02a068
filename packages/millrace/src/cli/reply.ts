import { fstatSync } from 'node:fs'
import type { ApprovalRequestEvent } from '../protocol/index.ts'
import { noUsage, toMillraceError } from '../protocol/index.ts'
import type { RunSummary } from '../view/index.ts'
import type { AnswerView } from './answer-view.ts'
import type { Asides } from './asides.ts'
import { dimmed, wantsColor } from './colors.ts'
import type { Conducted } from './conduct.ts'
import { conduct } from './conduct.ts'
import { confirm } from './confirm.ts'
import { readDuration } from './duration.ts'
import { exitCodes, exitOfRun } from './exit-codes.ts'
import type { Flags } from './flags.ts'
import { decisionHints, resumeHint } from './hints.ts'
import type { Ending } from './interrupts.ts'
import { jsonLine } from './json-lines.ts'
import type { Output } from './output.ts'
import { plainView } from './plain-view.ts'
import type { Talk } from './talk.ts'
import { cleanLine } from './terminal/index.ts'
import { terminalView } from './terminal-view.ts'

interface ReplyOptions {
  readonly flags: Flags
  readonly output: Output
  readonly asides: Asides
  readonly after: number
  readonly seq?: number
}

/** So long nobody need take up a question before that is worth a word. */
const patienceMs = 3000

/**
 * Shows the answer to what stands in the log after a number, as people or programs want it, and tells on stderr how to go on. Gives
 * the exit code.
 */
export async function showReply(
  talk: Talk,
  { flags, output, asides, after, seq }: ReplyOptions,
): Promise<number> {
  const { thread } = talk
  const { json = false, quiet = false } = flags
  const { stdin, stdout, stderr } = process
  const timeoutMs = flags.timeout === undefined ? undefined : readDuration(flags.timeout, '--timeout')
  const view = json ? undefined : viewFor(output, { quiet })
  if (!quiet) for (const notice of talk.here?.notices ?? []) output.tell(cleanLine(notice))
  const mayAsk = stdin.isTTY && stderr.isTTY && !json
  if (stdout.isTTY && stderr.isTTY && view) asides.hold()

  const waiting = setTimeout(async () => {
    const why = quiet ? undefined : await whyNothingComes(talk).catch(() => undefined)
    if (why) output.tell(why)
  }, patienceMs)
  const { answered, ending } = await conduct(thread, {
    output,
    after,
    ...(seq !== undefined && { seq }),
    timeoutMs,
    failure: talk.failure,
    onEntry(entry, change) {
      if (change) clearTimeout(waiting)
      if (!view) output.say(jsonLine(entry))
      else if (change) view.take(change)
    },
    ...(mayAsk && {
      decide(request, signal) {
        view?.end()
        asides.flush()
        return confirm(request, signal)
      },
    }),
  })
    .catch((thrown: unknown): Conducted => ({ answered: failed(thrown) }))
    .finally(() => {
      clearTimeout(waiting)
      view?.end()
      asides.release()
    })

  const approvals = answered.outcome === 'suspended' ? (await thread.state({ bytes: 0 })).approvals : []
  const result = { ...withEnding(answered, ending), approvals }
  if (json)
    output.say(jsonLine({ result: { threadId: thread.id, ...(seq !== undefined && { seq }), ...result } }))
  for (const line of closingLines(thread.id, flags, { result, ending })) output.tell(line)
  if (!ending && stderr.isTTY && !quiet && result.outcome === 'completed')
    output.tell(dimmed(resumeHint(thread.id, flags)))
  return ending?.exit ?? exitOfRun({ outcome: result.outcome, code: result.error?.code })
}

function viewFor(output: Output, { quiet }: { quiet: boolean }): AnswerView {
  const { stdout, stderr } = process
  const onePlace = stdout.isTTY && stderr.isTTY
  if (onePlace && process.env.TERM !== 'dumb')
    return terminalView(stdout, { color: wantsColor(stdout), quiet })
  const tell = quiet ? undefined : (line: string) => output.tell(dimmed(line))
  return plainView({ say: output.say, tell, onePlace, hold: isFile(stdout.fd) })
}

/** A pipe may be read as the words come. A file is read later. */
function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    // The parent process closed it.
    return false
  }
}

/** Whoever reads `--json` finds also this in the result. */
function failed(thrown: unknown): RunSummary {
  const error = toMillraceError(thrown, { op: 'millrace', code: 'store_error' }).toJSON()
  return { outcome: 'failed', text: '', usage: noUsage, rounds: 0, error }
}

interface Result extends RunSummary {
  /** What waits for a person. */
  readonly approvals: readonly ApprovalRequestEvent[]
}

/** A run that was stopped because its time was up has timed out, for whoever reads the result. */
function withEnding(answered: RunSummary, ending: Ending | undefined): RunSummary {
  if (ending?.exit !== exitCodes.timeout || answered.outcome === 'completed') return answered
  const error = { op: 'millrace', code: 'timeout', message: ending.reason, retryable: true } as const
  return { ...answered, error }
}

/** What a person has to know at the end, whether they asked for quiet or not. */
function closingLines(
  threadId: string,
  flags: Flags,
  { result, ending }: { result: Result; ending: Ending | undefined },
): string[] {
  const resume = resumeHint(threadId, flags)
  if (ending) return ending.exit === exitCodes.ok ? [] : [`${ending.reason}; what was said is kept`, resume]
  if (result.outcome === 'suspended') return decisionHints(threadId, flags, result.approvals)
  if (result.outcome === 'completed') return []
  const why = result.error ? cleanLine(result.error.message) : limitWords[result.outcome]
  return [`millrace: ${why ?? result.outcome}`, resume]
}

const limitWords: Partial<Record<RunSummary['outcome'], string>> = {
  'max-rounds': 'the agent has used up its rounds of tools',
  truncated: 'the answer was cut off at the limit of its length',
  cancelled: 'the answer was stopped',
}

async function whyNothingComes({ thread, here, agent }: Talk): Promise<string | undefined> {
  const { status } = await thread.info()
  if (status === 'running')
    return here ? undefined : 'something else is being answered in this thread; waiting'
  return here
    ? 'another process has worked on this thread; waiting for it, or for its lease to run out'
    : `nobody works for the agent '${cleanLine(agent)}' just now: is its server running? Waiting for it`
}
