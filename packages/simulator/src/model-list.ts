import type { JsonObject } from 'millrace'
import type { Wire } from './wire.ts'

/** The response to `GET /v1/models`, in the format of the provider. */
export function modelList(wire: Wire): JsonObject {
  if (wire !== 'anthropic')
    return {
      object: 'list',
      data: [{ id: 'simulated', object: 'model', created: 1_767_225_600, owned_by: 'millrace' }],
    }
  const model = {
    type: 'model',
    id: 'simulated',
    display_name: 'Simulated',
    created_at: '2026-01-01T00:00:00Z',
  }
  return { data: [model], has_more: false, first_id: 'simulated', last_id: 'simulated' }
}
