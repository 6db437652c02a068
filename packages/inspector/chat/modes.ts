import type { InputView } from 'millrace/view'

export type Mode = Exclude<InputView['mode'], 'correct'>

/** How a message is meant that is sent while a run goes on. */
export const modes: Record<Mode, string> = {
  steer: 'Steer: the run hears it before its next round',
  queue: 'Queue: answered after this run',
  interrupt: 'Interrupt: the run is stopped',
}
