import { expect, test } from 'vitest'
import { nodeProblem } from './node-version.ts'

test.each(['20.20.2', '22.12.0', '18.0.0', '22.0.0'])(
  'Node %s is too old, and the error names the required version',
  (node) => {
    expect(nodeProblem({ node, v8: '11.3' })).toBe(`millrace needs Node 22.13 or newer, but this is ${node}`)
  },
)

test.each(['22.13.0', '22.20.1', '23.0.0', '24.21.0', '100.0.0', '24.0.0-nightly'])(
  'Node %s is accepted',
  (node) => {
    expect(nodeProblem({ node })).toBeUndefined()
  },
)

test('browsers, polyfills, Bun and Deno are not checked', () => {
  expect(nodeProblem(undefined)).toBeUndefined()
  expect(nodeProblem({})).toBeUndefined()
  expect(nodeProblem({ node: '20.11.1', deno: '2.0.0' })).toBeUndefined()
  expect(nodeProblem({ node: '20.11.1', bun: '1.1.0' })).toBeUndefined()
})
