import type { CallView } from 'millrace/view'
import { useMemo } from 'preact/hooks'
import { duration, plural } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import './call.css'
import { busyMs, failureText, stateLabel, stateTone } from './call-state.ts'
import { RowView } from './row-view.tsx'
import { joinGroup, useFold } from './use-fold.ts'
import { countedNames } from './words.ts'

export interface CallGroupProps {
  readonly calls: readonly [CallView, ...CallView[]]
  readonly session: Session | undefined
}

/** Finished calls in a row, as one line that opens. */
export function CallGroup({ calls, session }: CallGroupProps) {
  joinGroup(calls)
  // The first call stays the first one while others join the group.
  const [first] = calls
  const [isOpen, toggle] = useFold('group', first)
  // A group that is complete is rendered once.
  return useMemo(() => {
    const tone = stateTone(first.state)
    const names = countedNames(calls.map(({ name }) => name))
    const total = plural(calls.length, 'tool call')
    const words = [
      ...(tone === 'good' ? [duration(busyMs(calls))] : [stateLabel(first), failureText(first)]),
      names.length > 1 && names.join(', '),
    ]
    return (
      <article class="chat-row" data-kind="group" data-key={first.key} aria-label={total} tabIndex={-1}>
        <div class="chat-call" data-tone={tone}>
          <div class="chat-call-head">
            <h3>
              <button type="button" class="plain chat-fold" aria-expanded={isOpen} onClick={toggle}>
                <Icon name={tone === 'good' ? 'check' : 'close'} />
                <span class="chat-fold-title">{names.length > 1 ? total : names[0]}</span>
                <span class="chat-fold-status chat-quiet">{visible(words.filter(Boolean).join(' · '))}</span>
                <Icon name="chevron" />
              </button>
            </h3>
          </div>
          {isOpen && (
            <div class="chat-inner">
              {calls.map((call) => (
                <RowView key={call.key} row={call} session={session} isPending={false} />
              ))}
            </div>
          )}
        </div>
      </article>
    )
  }, [calls, session, isOpen])
}
