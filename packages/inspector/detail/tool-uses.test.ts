import type { CallView } from 'millrace/view'
import { expect, it } from 'vitest'
import { toolUses } from './tool-uses.ts'

const call = (name: string, more: Partial<CallView> = {}) => ({ name, ...more }) as CallView
const result = (ms: number, isError = false) => ({ ms, isError }) as CallView['result']

it('offered tools are listed in order, with their calls', () => {
  const first = call('look', { result: result(10) })
  const second = call('look', { result: result(5, true) })
  expect(toolUses([first, second], ['list', 'look'])).toEqual([
    { name: 'list', calls: [], ms: 0, failed: 0, wasNotOffered: false },
    { name: 'look', calls: [first, second], ms: 15, failed: 1, wasNotOffered: false },
  ])
})

it('a call of a tool that was not offered is marked, unless the provider runs it or the offer is unknown', () => {
  const calls = [call('invented'), call('web_search', { provider: {} })]
  const notOffered = (offered?: string[]) =>
    toolUses(calls, offered).flatMap(({ name, wasNotOffered }) => (wasNotOffered ? [name] : []))
  expect(notOffered(['look'])).toEqual(['invented'])
  expect(notOffered()).toEqual([])
})
