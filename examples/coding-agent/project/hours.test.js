import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOpen } from './hours.js'

const bakery = { from: 6 * 60, to: 12 * 60 }
const bar = { from: 20 * 60, to: 2 * 60 }

test('a shop is open from its first minute to its last', () => {
  assert.equal(isOpen(bakery, 6 * 60), true)
  assert.equal(isOpen(bakery, 12 * 60), false)
})

test('a shop that closes after midnight is open past midnight', () => {
  assert.equal(isOpen(bar, 23 * 60), true)
  assert.equal(isOpen(bar, 60), true)
  assert.equal(isOpen(bar, 12 * 60), false)
})
