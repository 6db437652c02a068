import { useEffect } from 'preact/hooks'
import { Rows } from '../chat/rows.tsx'
import { ShownTime } from '../clock.ts'
import { duration } from '../format.ts'
import { IconButton } from '../icon-button.tsx'
import { Icon } from '../icons.tsx'
import type { Replay } from './replay.ts'
import { speeds } from './replay.ts'

/** The controls of a replay, and the chat at its current time. */
export function ReplayView({ replay }: { readonly replay: Replay }) {
  const { axis, time, speed, play, pause, step, seek } = replay
  const [toggle, icon, label] = replay.playing.value
    ? ([pause, 'pause', 'Pause'] as const)
    : ([play, 'play', 'Play'] as const)
  const place = axis.xOf(time.value)
  const text = `${duration(place)} of ${duration(axis.length)}`
  const { log, restarts } = replay.logNow()
  useEffect(() => {
    play()
    return pause
  }, [play, pause])

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== ' ' || (event.target as Element).closest('button, select, summary, a')) return
    event.preventDefault()
    toggle()
  }

  return (
    <section class="timeline-replay" aria-label="Replay" onKeyDown={onKeyDown}>
      <div class="timeline-row">
        <button type="button" class="primary" onClick={toggle}>
          <Icon name={icon} /> {label}
        </button>
        <IconButton class="timeline-back" icon="chevron" label="Previous event" onClick={() => step(-1)} />
        <IconButton icon="chevron" label="Next event" onClick={() => step(1)} />
        <input
          type="range"
          max={axis.length}
          step="any"
          value={place}
          aria-label="Replay position"
          aria-valuetext={text}
          onInput={({ currentTarget }) => seek(axis.atOf(Number(currentTarget.value)))}
        />
        <small>{text}</small>
        <select
          aria-label="Speed"
          value={speed.value}
          onChange={({ currentTarget }) => (speed.value = Number(currentTarget.value))}
        >
          {speeds.map((one) => (
            <option key={one} value={one}>
              {one}×
            </option>
          ))}
        </select>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable. */}
      <section class="timeline-replayed" aria-label="Chat at this time" tabIndex={0}>
        <ShownTime.Provider value={time}>
          {/* After a restart the rows belong to another log. */}
          <Rows key={restarts} log={log} session={undefined} />
        </ShownTime.Provider>
      </section>
    </section>
  )
}
