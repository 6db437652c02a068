import type { CallView } from 'millrace/view'
import { expect, it } from 'vitest'
import { toolUses } from './offered.ts'

const call = (name: string, more: Partial<CallView> = {}) => ({ name, ...more }) as CallView
const result = (ms: number, isError = false) => ({ ms, isError }) as CallView['result']

it('tools that were offered are told in their order, with how they were called', () => {
  const first = call('look', { result: result(10) })
  const second = call('look', { result: result(5, true) })
  expect(toolUses([first, second], ['list', 'look'])).toEqual([
    { name: 'list', calls: [], ms: 0, failed: 0, isFault: false },
    { name: 'look', calls: [first, second], ms: 15, failed: 1, isFault: false },
  ])
})

it('to call what was not offered is a fault, unless the provider runs it, or nobody knows what was', () => {
  const calls = [call('invented'), call('web_search', { provider: {} })]
  const faults = (offered?: string[]) =>
    toolUses(calls, offered).flatMap(({ name, isFault }) => (isFault ? [name] : []))
  expect(faults(['look'])).toEqual(['invented'])
  expect(faults()).toEqual([])
})
