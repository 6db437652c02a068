import type { ThreadEvent } from '../protocol/index.ts'

const names: { readonly [Type in ThreadEvent['type']]?: string } = {
  'run-start': 'stream_start',
  text: 'stream_chunk',
  reasoning: 'stream_chunk',
  'provider-tool': 'tool_provider',
  'approval-request': 'tool_approval_request',
  approval: 'tool_approval',
}

/** What an event is called on a socket. A client that knows only `stream_*` and `tool_*` may leave the others alone. */
export function frameType(event: ThreadEvent): string {
  if (event.type === 'run-end') return event.outcome === 'failed' ? 'stream_error' : 'stream_end'
  return names[event.type] ?? event.type.replaceAll('-', '_')
}
