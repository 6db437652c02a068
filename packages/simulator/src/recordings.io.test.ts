import { existsSync, readFileSync } from 'node:fs'
import type { JsonObject } from 'millrace'
import { expect, test } from 'vitest'
import { providerSimulator } from './provider-simulator.ts'
import { ask, eventsOf } from './raw-client.test-kit.ts'
import type { Wire } from './wire.ts'

const folder = new URL('../../../../shared/recordings/', import.meta.url)

/** Fields that not every model or account gets, and those that repeat the request. */
const notOurs = /\.(inference_geo|context_management|tools|text|output|safety_identifier)\b/

const kindOf = (event: unknown): string => {
  const { type, item, content_block, delta, choices } = Object(event)
  const inside = item?.type ?? content_block?.type ?? delta?.type ?? ''
  return `${type ?? Object.keys(choices?.[0]?.delta ?? { usage: 1 })} ${inside}`
}

function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.slice(0, 1).flatMap((one) => fieldsOf(one, `${path}[]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    `${path}.${key}`,
    ...fieldsOf(inner, `${path}.${key}`),
  ])
}

/** The fields of each kind of event, over all its events. */
function shapesOf(events: readonly unknown[]): Map<string, Set<string>> {
  const shapes = new Map<string, Set<string>>()
  for (const event of events) {
    const fields = shapes.get(kindOf(event)) ?? new Set()
    for (const field of fieldsOf(event)) fields.add(field)
    shapes.set(kindOf(event), fields)
  }
  return shapes
}

test.skipIf(!existsSync(folder)).each<[string, Wire, JsonObject]>([
  [
    'openai-responses/openai-reasoning-encrypted-content.1.chunks.txt',
    'openai-responses',
    { include: ['reasoning.encrypted_content'] },
  ],
  ['openai-chat/openai-text.chunks.txt', 'openai-chat', { stream_options: { include_usage: true } }],
  ['anthropic/anthropic-clear-thinking.1.chunks.txt', 'anthropic', {}],
  ['anthropic/anthropic-json-tool.2.chunks.txt', 'anthropic', {}],
])('the simulator sends every field of the recorded %s', async (file, wire, more) => {
  const lines = readFileSync(new URL(file, folder), 'utf8').split('\n')
  const real = shapesOf(lines.filter((line) => line !== '').map((line) => JSON.parse(line)))
  await using sim = await providerSimulator([
    [{ reasoning: 'hm' }, { text: 'Hello' }, { call: 'a', input: { b: 1 } }],
  ])
  const ours = shapesOf(eventsOf(await (await ask(sim, wire, { stream: true, ...more })).text()))
  for (const [kind, fields] of real) {
    const missing = [...fields].filter((field) => !ours.get(kind)?.has(field) && !notOurs.test(field))
    expect({ kind, missing }).toEqual({ kind, missing: [] })
  }
})
