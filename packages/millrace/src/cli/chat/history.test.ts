import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { historyCursor, openHistory } from './history.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-history-'))
  file = join(folder, 'deep', 'history')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the history is kept in a file', () => {
  test('in order, without repetitions and empty lines', () => {
    const history = openHistory(file)
    for (const line of ['one', 'two\nlines', 'two\nlines', '  ', 'three']) history.add(line)
    expect(openHistory(file).lines).toEqual(['one', 'two\nlines', 'three'])
  })

  test('that only the user can read', () => {
    openHistory(file).add('secret')
    expect(statSync(file).mode & 0o077).toBe(0)
  })

  test('of limited size: the oldest lines are dropped, and very long ones not kept', () => {
    const history = openHistory(file)
    for (let count = 0; count < 1500; count++) history.add(`line ${count}`)
    history.add('x'.repeat(100_000))
    expect(history.lines.length).toBe(1000)
    const again = openHistory(file)
    expect([again.lines[0], again.lines.at(-1)]).toEqual(['line 500', 'line 1499'])
    expect(readFileSync(file, 'utf8').trim().split('\n').length).toBe(1000)
    for (let count = 0; count < 1000; count++)
      appendFileSync(file, `${JSON.stringify(`${count}${'y'.repeat(9000)}`)}\n`)
    expect(openHistory(file).lines.join('').length).toBeLessThanOrEqual(2 ** 20)
    expect(statSync(file).size).toBeLessThan(2 ** 21)
    writeFileSync(file, 'z'.repeat(2 ** 25))
    expect(openHistory(file).lines).toEqual([])
    expect(statSync(file).size).toBe(0)
  })

  test('a file with other content, or one that cannot be written, is ignored', () => {
    openHistory(file).add('one')
    appendFileSync(file, 'not json\n{"a":1}\n"two"\n')
    expect(openHistory(file).lines).toEqual(['one', 'two'])
    writeFileSync(join(folder, 'plain'), '')
    const history = openHistory(join(folder, 'plain', 'history'))
    history.add('kept')
    expect(history.lines).toEqual(['kept'])
  })

  test('without a file it lasts as long as the process', () => {
    const history = openHistory(undefined)
    history.add('one')
    expect(history.lines).toEqual(['one'])
  })
})

test('moving through the history ends at the draft', () => {
  const history = openHistory(undefined)
  history.add('one')
  history.add('two')
  const recall = historyCursor(history)
  expect(recall.next()).toBeUndefined()
  expect([recall.previous('draft'), recall.previous('two'), recall.previous('one')]).toEqual([
    'two',
    'one',
    undefined,
  ])
  expect([recall.next(), recall.next(), recall.next()]).toEqual(['two', 'draft', undefined])
})
