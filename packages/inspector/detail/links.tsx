import type { CallView, RoundView, RunView } from 'millrace/view'
import { inspect, showEntry } from '../state.ts'

/** A link within the panel. */
export const link = (text: string, onClick: () => void) => (
  <button type="button" class="detail-link" onClick={onClick}>
    {text}
  </button>
)

export const runLink = (run: RunView) => link(`Run of ${run.agent}`, () => inspect({ kind: 'run', run }))

export const roundLink = (round: RoundView) =>
  link(`Round ${round.number}`, () => inspect({ kind: 'round', round }))

export const callLink = (call: CallView, text: string) => link(text, () => inspect({ kind: 'call', call }))

/** Opens the event in the list of raw events. */
export const eventLink = (seq: number) => link(`Event ${seq}`, () => showEntry(seq))
