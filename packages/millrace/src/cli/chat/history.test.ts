import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openHistory, recallFrom } from './history.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-history-'))
  file = join(folder, 'deep', 'history')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('what was said is kept in a file', () => {
  test('in order, several lines in one, each once in a row, nothing empty', () => {
    const history = openHistory(file)
    for (const line of ['one', 'two\nlines', 'two\nlines', '  ', 'three']) history.add(line)
    expect(openHistory(file).lines).toEqual(['one', 'two\nlines', 'three'])
  })

  test('that only its owner can read', () => {
    openHistory(file).add('secret')
    expect(statSync(file).mode & 0o077).toBe(0)
  })

  test('of bounded size: the oldest go, and what is very long is not kept', () => {
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

  test('a file with something else in it, or none that can be written, is no hindrance', () => {
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

test('going back and forth ends at what was being written', () => {
  const history = openHistory(undefined)
  history.add('one')
  history.add('two')
  const recall = recallFrom(history)
  expect(recall.forth()).toBeUndefined()
  expect([recall.back('draft'), recall.back('two'), recall.back('one')]).toEqual(['two', 'one', undefined])
  expect([recall.forth(), recall.forth(), recall.forth()]).toEqual(['two', 'draft', undefined])
})
