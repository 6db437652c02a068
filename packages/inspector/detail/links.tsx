import type { CallView, RoundView, RunView } from 'millrace/view'
import { show, showEntry } from '../state.ts'

/** Words that lead to something else in the panel. */
export const link = (text: string, onClick: () => void) => (
  <button type="button" class="detail-link" onClick={onClick}>
    {text}
  </button>
)

export const runLink = (run: RunView) => link(`Run of ${run.agent}`, () => show({ kind: 'run', run }))

export const roundLink = (round: RoundView) =>
  link(`Round ${round.number}`, () => show({ kind: 'round', round }))

export const callLink = (call: CallView, text: string) => link(text, () => show({ kind: 'call', call }))

/** To its place among the raw events. */
export const eventLink = (seq: number) => link(`Event ${seq}`, () => showEntry(seq))
