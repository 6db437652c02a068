import { useMemo } from 'preact/hooks'
import { ContextBar } from '../context-bar.tsx'
import { contextOf, costParts, costText, shareText, spentIn } from '../cost.ts'
import type { Session } from '../session.ts'
import { panel, panelOpen, selection } from '../state.ts'

/** What the thread has cost, and how full the context is. Opens the details. */
export function ThreadLine({ session }: { readonly session: Session }) {
  const { runs } = session.log
  const last = session.tick.value < 0 ? undefined : runs.at(-1)
  const { nanos, unknown } = last?.spent ?? {}
  const context = contextOf(session.log)
  const [cost, parts] = useMemo(() => {
    const spent = spentIn(runs)
    return [costText(spent), costParts(runs, spent).join('\n')]
  }, [runs.length, nanos, unknown])
  if (!cost && !context) return null
  return (
    <button
      type="button"
      class="plain chat-thread chat-quiet"
      title={parts}
      onClick={() => {
        selection.value = undefined
        panel.value = 'detail'
        panelOpen.value = true
      }}
    >
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
