import type { Entry } from 'millrace/client'
import { useMemo } from 'preact/hooks'
import { clockTime, duration, timeOfDay } from '../format.ts'
import { kindOf } from './filter.ts'
import { summaryOf } from './summary.ts'

export interface EventLineProps {
  readonly entry: Entry
  /** The time of the entry shown before it. */
  readonly before: number | undefined
}

/** One entry of the log on one line. Rendered once, even if the list is rendered again. */
export function EventLine({ entry, before }: EventLineProps) {
  return useMemo(() => {
    const { seq, from, at, event } = entry
    return (
      <span class="events-line">
        <span class="events-number quiet">
          {from !== undefined && <span class="events-from">{from}–</span>}
          {seq}
        </span>
        <span class="events-time quiet" title={clockTime(at)}>
          {timeOfDay(at)}
        </span>
        <span class="events-number events-gap quiet">
          {before === undefined ? '' : `+${duration(at - before)}`}
        </span>
        <span class={`events-type events-${kindOf(event.type)}`}>{event.type}</span>
        <span class="events-summary">{summaryOf(event)}</span>
      </span>
    )
  }, [entry, before])
}
