import { useMemo } from 'preact/hooks'
import { ContextBar } from '../context-bar.tsx'
import { contextOf, costText, shareText, spentIn } from '../cost.ts'
import type { Session } from '../session.ts'
import { panel, panelOpen, selection } from '../state.ts'
import { useAgent } from './agents.ts'

/** What the thread has cost, and how full the context is. Opens the details. */
export function ThreadLine({ session }: { readonly session: Session }) {
  const { runs } = session.log
  const last = session.tick.value < 0 ? undefined : runs.at(-1)
  const { nanos, unknown } = last?.spent ?? {}
  const context = useMemo(() => contextOf(session.log), [runs.length, last?.context])
  const total = useMemo(() => costText(spentIn(runs)), [runs.length, nanos, unknown])
  const isSimulated = useAgent(session)?.isSimulated
  // The badge says it for the whole line.
  const cost = isSimulated ? total?.replace(/(?<!partly) simulated$/, '') : total
  const badge = isSimulated && (
    <span title="A simulator answers; token counts and costs are simulated">Simulated</span>
  )
  if (!cost && !context) return badge ? <p class="chat-thread chat-quiet">{badge}</p> : null
  return (
    <button
      type="button"
      class="plain chat-thread chat-quiet"
      title="Show the details"
      onClick={() => {
        selection.value = undefined
        panel.value = 'detail'
        panelOpen.value = true
      }}
    >
      {badge}
      {cost && <span>Thread {cost}</span>}
      {context && (
        <>
          <span>Context {shareText(context)}</span>
          {context.limit && <ContextBar use={context} />}
        </>
      )}
    </button>
  )
}
