import { createInterface } from 'node:readline'
import type { Entry } from '../../protocol/index.ts'
import { budgetQuestion, limitText, textOf } from '../../protocol/index.ts'
import type { Change, RunView } from '../../view/index.ts'
import { applyEntry, createView } from '../../view/index.ts'
import { resultRequest } from '../ask-approval.ts'
import { runCostLine } from '../cost-line.ts'
import {
  callNote,
  cleanLine,
  cleanText,
  clip,
  deltaCleaner,
  escapedLine,
  inputOf,
  statusOf,
} from '../terminal/index.ts'
import { replyHelp } from './approval-reply.ts'
import { respondHelp } from './commands.ts'
import type { ChatUi, Status, UserActions } from './ui.ts'
import { idleStatus } from './ui.ts'

export interface LineUiOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  readonly user: UserActions
}

/** For dumb terminals: text as it streams, a line for everything else, and nothing is redrawn. */
export function lineUi({ input, output, user }: LineUiOptions): ChatUi {
  const reader = createInterface({ input, terminal: false })
  let view = createView({ keep: 'round' })
  let cleanDelta = deltaCleaner()
  let status: Status = idleStatus
  /** Lines that end in a backslash, so the message continues. */
  let continuedLines = ''
  /** Messages typed here, which the terminal has echoed. */
  const typed: string[] = []
  /** A model of the run whose price is not known. */
  let unpriced: string | undefined
  let midLine = false
  /** The prompt is shown, and nothing is typed yet. */
  let promptShown = false
  let open = true

  function write(text: string) {
    if (!text || !open) return
    output.write(promptShown ? `\n${text}` : text)
    promptShown = false
    midLine = !text.endsWith('\n')
  }

  function line(text: string) {
    write(`${midLine ? '\n' : ''}${text}\n`)
  }

  function showPrompt() {
    if (promptShown) return
    write(midLine ? '\n> ' : '> ')
    midLine = false
    promptShown = open
  }

  function onLine(text: string) {
    promptShown = false
    if (text.endsWith('\\')) {
      continuedLines += `${text.slice(0, -1)}\n`
      return
    }
    const message = continuedLines + text
    continuedLines = ''
    if (!message.trim()) return showPrompt()
    typed.push(cleanText(message))
    if (typed.length > 100) typed.shift()
    user.send(message)
  }

  function interrupt() {
    if (status.busy && !status.stopping) user.stop()
    else user.leave()
  }

  function show(entry: Entry) {
    const change = applyEntry(view, entry)
    const { text, input, round } = change
    if (text?.kind === 'text') return write(cleanDelta(change.delta))
    if (input) return echo(cleanText(textOf(input.message)))
    if (round && !round.end) cleanDelta = deltaCleaner()
    const note = callText(change) || eventText(change)
    if (note) line(note)
    if (round?.end && midLine) write('\n')
    if (round?.end && !round.end.cost) unpriced = round.end.model
    if (change.run?.outcome && change.run.outcome !== 'suspended') showCost(change.run)
  }

  function showCost(run: RunView) {
    const cost = runCostLine(run, unpriced)
    if (cost) line(`(${cost})`)
    unpriced = undefined
  }

  function echo(message: string) {
    const own = typed.indexOf(message)
    if (own === -1) line(`> ${message}`)
    else typed.splice(own, 1)
    if (status.busy) line('(queued)')
  }

  reader.on('line', onLine)
  const leave = () => user.leave()
  reader.on('close', leave)
  // Never removed: later writes fail too.
  output.on('error', leave)
  process.on('SIGINT', interrupt)

  return {
    showEarlier(entries, isCut) {
      if (isCut) line('(earlier messages are not shown; /export writes all of them)')
      for (const entry of entries) show(entry)
      showPrompt()
    },
    show,
    update(next) {
      const before = status
      status = next
      const { approval, unanswered } = next
      if (approval && approval.callId !== before.approval?.callId) {
        const { name, input, reason, budget } = approval
        const text = budget ? budgetQuestion(budget, input) : `${name} ${JSON.stringify(input)}`
        line(`? ${clip(escapedLine(text), 2000)}`)
        if (reason && !budget) line(`  ${escapedLine(reason)}`)
        line(`  ${replyHelp(approval)}`)
        showPrompt()
      } else if (unanswered && unanswered.callId !== before.unanswered?.callId) {
        line(`? ${clip(resultRequest(unanswered), 2000)}`)
        line(`  ${respondHelp}`)
      } else if (before.busy && !next.busy) showPrompt()
    },
    // The terminal has echoed it.
    echo() {},
    note(text, kind) {
      line(kind === 'problem' ? `! ${cleanText(text)}` : cleanText(text))
      if (!status.busy) showPrompt()
    },
    suggest: (text) => line(`(edit and send: ${cleanLine(text)})`),
    startThread() {
      view = createView({ keep: 'round' })
    },
    close() {
      if (!open) return
      if (midLine || promptShown) output.write('\n')
      open = false
      process.off('SIGINT', interrupt)
      reader.off('close', leave)
      reader.close()
    },
  }
}

function callText({ call, state, progress, inner, entry }: Change): string | undefined {
  if (!call || call.provider) return undefined
  const line = (text: string) => text && `[${cleanLine(call.name)}] ${text}`
  if (progress !== undefined || inner) return line(clip(cleanLine(callNote(call)), 200))
  if (!state) return undefined
  if (call.result) return line(clip(statusOf(call, entry.at), 400))
  // Only once: after an approval the call is queued again.
  if (state !== 'queued' || call.approvals.length > 0) return undefined
  return line(`${clip(cleanLine(inputOf(call)), 200)} …`)
}

function eventText({ round, retry, run, rewound }: Change): string | undefined {
  if (rewound) return '(went back in the conversation)'
  if (retry) return `(retrying: ${cleanLine(retry.error.message)})`
  if (round?.retracted) return `(retracted, generating again: ${cleanLine(round.retracted.reason)})`
  if (!run?.outcome || run.outcome === 'completed' || run.outcome === 'suspended') return undefined
  if (run.limit) return `(${limitText(run.limit)})`
  return run.outcome === 'failed' ? `! ${cleanLine(run.error?.message ?? 'failed')}` : `(${run.outcome})`
}
