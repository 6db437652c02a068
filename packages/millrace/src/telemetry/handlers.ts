import type { RunEvent } from '../protocol/index.ts'

/**
 * Event handlers by type. Telemetry needs no view: most events are deltas, which only cost a lookup
 * here.
 */
type Handlers = {
  readonly [Type in RunEvent['type']]?: (event: Extract<RunEvent, { readonly type: Type }>) => void
}

export function eventHandler(handlers: Handlers): (event: RunEvent) => void {
  return (event) => (handlers[event.type] as ((event: RunEvent) => void) | undefined)?.(event)
}
