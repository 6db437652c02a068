import type { AgentDetails } from 'millrace/client'
import type { Message } from 'millrace/view'
import { describe, expect, it } from 'vitest'
import type { Draft } from './draft.ts'
import { draftOf, emptyMessage, readDraft, withRole } from './draft.ts'

const tool = (name: string) => ({ name, description: '', inputSchema: {} })
const details = {
  name: 'desk',
  system: 'Be brief.',
  tools: [tool('look'), tool('pay')],
  models: [{ id: 'small', provider: 'test' }],
  settings: {},
  limits: {},
} as AgentDetails

const messages: Message[] = [
  { role: 'user', content: 'Where is it?' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'Let me look.' },
      { type: 'tool-call', callId: 'c1', name: 'look', input: { id: 1 } },
    ],
  },
  { role: 'tool', callId: 'c1', name: 'look', content: [{ type: 'text', text: 'There.' }] },
  { role: 'assistant', content: [{ type: 'text', text: 'It is there.' }] },
  { role: 'user', content: [{ type: 'text', text: 'Thanks.' }] },
]

function problemsOf(change: Partial<Draft>) {
  const read = readDraft({ ...draftOf({ messages }, details), ...change }, { messages }, details)
  return 'problems' in read ? Object.fromEntries(read.problems) : {}
}

describe('a draft', () => {
  it('without changes sends what the model read, and replaces nothing', () => {
    const input = { messages, request: { settings: { temperature: 0.5, topP: 0.9 }, model: 'small' } }
    const draft = draftOf(input, details)
    expect(draft).toMatchObject({ system: 'Be brief.', tools: ['look', 'pay'], temperature: '0.5' })
    expect(readDraft(draft, input, details)).toEqual({
      options: {
        messages: [...messages.slice(0, -1), { role: 'user', content: 'Thanks.' }],
        request: input.request,
      },
    })
  })

  it('replaces the prompt and the tools that were changed', () => {
    const draft = { ...draftOf({ messages }, details), system: 'Be verbose.', tools: ['look'] }
    expect(readDraft(draft, { messages }, details)).toMatchObject({
      options: { request: { replace: { system: 'Be verbose.', tools: ['look'] } } },
    })
  })

  it('contains what a message added to the prompt, and other fields of its request', () => {
    const input = { messages, request: { system: 'Use French.', toolChoice: 'none' as const } }
    const draft = draftOf(input, details)
    expect(draft.system).toBe('Be brief.\n\nUse French.')
    const request = { toolChoice: 'none', replace: { system: 'Be brief.\n\nUse French.' } }
    expect(readDraft(draft, input, details)).toMatchObject({ options: { request } })
    const unknown = readDraft(draftOf(input, undefined), input, undefined)
    expect(unknown).toMatchObject({ options: { request: input.request } })
  })

  it('reports problems at the field', () => {
    const [first, second, ...others] = draftOf({ messages }, details).messages
    if (!first || !second) throw new Error('no messages')
    const broken = [{ ...first, text: ' ' }, { ...second, text: '[' }, ...others]
    const problems = problemsOf({ messages: broken })
    expect(Object.keys(problems)).toEqual([`message ${first.id}`, `message ${second.id}`])
    expect(problems[`message ${second.id}`]).toMatch(/^This is not valid JSON/)
    expect(problemsOf({ temperature: 'hot' })).toEqual({ temperature: 'The temperature must be a number.' })
    expect(Object.keys(problemsOf({ maxOutputTokens: '1.5', other: '[]' }))).toEqual([
      'maxOutputTokens',
      'other',
    ])
    expect(Object.keys(problemsOf({ messages: others.slice(0, 2) }))).toEqual(['messages'])
    expect(Object.keys(problemsOf({ messages: [] }))).toEqual(['messages'])
  })

  it('keeps the text of a message whose role changes, unless it becomes a result', () => {
    const message = { ...emptyMessage('user'), text: 'Hello' }
    expect(withRole(message, 'assistant')).toEqual({ ...message, role: 'assistant' })
    expect(withRole(message, 'tool')).toMatchObject({ id: message.id, role: 'tool', isJson: true })
  })
})
