import type { RunEvent } from '../protocol/index.ts'

/** What is done at the events that count, by their type. Telemetry reacts to events and keeps no view: most are deltas, and cost a look-up. */
type Handlers = {
  readonly [Type in RunEvent['type']]?: (event: Extract<RunEvent, { readonly type: Type }>) => void
}

export function handleBy(handlers: Handlers): (event: RunEvent) => void {
  return (event) => (handlers[event.type] as ((event: RunEvent) => void) | undefined)?.(event)
}
