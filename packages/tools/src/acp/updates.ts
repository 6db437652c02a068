import type { PlanEntry, SessionUpdate } from '@agentclientprotocol/sdk'
import type { Entry } from 'millrace'
import { isObject } from 'millrace/internal'
import type { CallView, Change, InputView, LogView, RoundView, RunView, Spent, TextView } from 'millrace/view'
import { countSpend, limitText, nothingSpent, totalCost } from 'millrace/view'
import { callFields, toolCallIdOf } from './call-update.ts'
import { blocksOf } from './prompt.ts'

export interface UpdatesOptions {
  /** Whether the client shows notices. */
  readonly notices: boolean
}

/** Turns a thread into updates of a session, in order. */
export function sessionUpdates({ notices }: UpdatesOptions) {
  /** The fields of each call that the client has, as JSON. */
  const sent = new Map<string, Map<string, string>>()
  const spent: Spent = nothingSpent()

  function callUpdate(call: CallView, isLive: boolean): SessionUpdate[] {
    const { toolCallId, ...fields } = callFields(call, isLive)
    const before = sent.get(toolCallId)
    const known = before ?? new Map<string, string>()
    const changed = Object.entries(fields).filter(([name, value]) => {
      const text = JSON.stringify(value)
      if (known.get(name) === text) return false
      known.set(name, text)
      return true
    })
    sent.set(toolCallId, known)
    if (changed.length === 0) return []
    const update = { toolCallId, ...Object.fromEntries(changed) }
    if (before) return [{ sessionUpdate: 'tool_call_update', ...update }]
    return [{ sessionUpdate: 'tool_call', ...update, title: fields.title ?? call.name }]
  }

  function usageUpdate({ context }: RunView): SessionUpdate[] {
    if (context?.limit === undefined) return []
    const { usd } = totalCost(spent)
    const cost = usd === undefined ? {} : { cost: { amount: usd, currency: 'USD' } }
    return [{ sessionUpdate: 'usage_update', used: context.tokens, size: context.limit, ...cost }]
  }

  /** The protocol cannot take back what was shown. */
  function retractUpdates({ parts, calls, seq }: RoundView): SessionUpdate[] {
    if (parts.length === 0) return []
    const open = calls.map(toolCallIdOf).filter((id) => sent.has(id))
    return [
      ...open.map((toolCallId) => ({
        sessionUpdate: 'tool_call_update' as const,
        toolCallId,
        status: 'failed' as const,
      })),
      text(`${seq}-retracted`, '\n\n_[The answer was interrupted and starts over.]_\n\n'),
    ]
  }

  /** The conversation so far, without what was retracted or rewound. */
  function replay({ rows, waiting, runs }: LogView): SessionUpdate[] {
    const run = runs.at(-1)
    const plan = rows.flatMap((row) => (row.kind === 'call' ? plansOf(row) : [])).at(-1)
    return [
      ...[...rows, ...waiting].flatMap((row) => {
        if (row.kind === 'input') return inputUpdates(row)
        if (row.kind === 'text' || row.kind === 'reasoning') return textUpdates(row, row.text.pieces.join(''))
        return row.kind === 'call' ? callUpdate(row, false) : []
      }),
      ...(plan ? [planUpdate(plan)] : []),
      ...(run ? usageUpdate(run) : []),
    ]
  }

  /** What follows. `isOwn`: the client sent this message itself. */
  function updatesOf(change: Change, isOwn: boolean): SessionUpdate[] {
    const { entry, call, round, run, notice, input } = change
    const updates: SessionUpdate[] = []
    if (input && !isOwn) updates.push(...inputUpdates(input))
    if (change.text) updates.push(...textUpdates(change.text, change.delta))
    if (round?.retracted) updates.push(...retractUpdates(round))
    if (change.rewound)
      updates.push(text(`${entry.seq}`, '\n\n_[The conversation continues from an earlier message.]_\n\n'))
    if (call && isVisible(change)) updates.push(...callUpdate(call, true))
    // The model never finished these.
    if (round?.end) for (const one of round.calls) if (one.problem) updates.push(...callUpdate(one, true))
    const plan = planIn(change.progress) ?? planIn(change.inner?.progress)
    if (plan) updates.push(planUpdate(plan))
    if (round?.end) updates.push(...usageUpdate(round.run))
    if (entry.event.type === 'title')
      updates.push({ sessionUpdate: 'session_info_update', title: entry.event.title })
    // Their calls do not change any more: only what is sent again would be compared with these.
    if (run?.outcome !== undefined && run.outcome !== 'suspended')
      for (const fields of sent.values()) fields.clear()
    if (run?.outcome === 'budget' && run.limit) updates.push(text(`${entry.seq}`, limitText(run.limit)))
    if (notice && notice.notice !== 'retract' && notices)
      updates.push({
        sessionUpdate: 'notice',
        severity: notice.notice === 'retry' ? 'warning' : 'info',
        title: notice.text,
        ...(notice.detail !== undefined && { description: notice.detail }),
      })
    return updates
  }

  /** Must be called with each entry. */
  const count = ({ event }: Entry) => countSpend(spent, event)

  return { count, replay, updatesOf }
}

function inputUpdates({ seq, message }: InputView): SessionUpdate[] {
  const messageId = `${seq}`
  return blocksOf(message.content).map((content) => ({
    sessionUpdate: 'user_message_chunk',
    messageId,
    content,
  }))
}

function textUpdates({ kind, seq }: TextView, text: string): SessionUpdate[] {
  if (text === '') return []
  const sessionUpdate = kind === 'text' ? 'agent_message_chunk' : 'agent_thought_chunk'
  return [{ sessionUpdate, messageId: `${seq}`, content: { type: 'text', text } }]
}

/** A message that no model wrote. */
export function text(messageId: string, text: string): SessionUpdate {
  return { sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } }
}

/** Arguments and the text of sub-agents grow in small pieces, and each update repeats the whole call. */
function isVisible({ state, progress, display, inner }: Change): boolean {
  if (state || display || progress !== undefined) return true
  return inner !== undefined && (inner.closed !== undefined || inner.run !== undefined || isVisible(inner))
}

const statuses = ['pending', 'in_progress', 'completed'] as const
const priorities = ['high', 'medium', 'low'] as const

const planUpdate = (entries: PlanEntry[]): SessionUpdate => ({ sessionUpdate: 'plan', entries })

function plansOf({ progress, inner }: CallView): PlanEntry[][] {
  const innerPlans = inner?.rows.flatMap((row) => (row.kind === 'call' ? plansOf(row) : [])) ?? []
  return [...progress.flatMap((data) => [planIn(data) ?? []]), ...innerPlans].filter(
    ({ length }) => length > 0,
  )
}

/** The plan that a tool reports with `progress({ plan: [{ content, status, priority }] })`. */
function planIn(progress: unknown): PlanEntry[] | undefined {
  if (!isObject(progress) || !Array.isArray(progress.plan)) return undefined
  return progress.plan.flatMap((entry: unknown) => {
    if (!isObject(entry) || typeof entry.content !== 'string') return []
    const status = statuses.find((one) => one === entry.status) ?? 'pending'
    const priority = priorities.find((one) => one === entry.priority) ?? 'medium'
    return [{ content: entry.content, status, priority }]
  })
}
