import type { LogView } from 'millrace/view'
import { applyEntry } from 'millrace/view'
import { expect, test } from 'vitest'
import { createItems } from './items.ts'
import { type Event, logOf, roundEnd, roundStart, runEnd } from './log.test-kit.ts'

const text: Event = { type: 'text', text: 'Hm' }

/** A call of this name, with its result. */
function ran(
  name: string,
  status: 'ok' | 'failed' | 'blocked' | 'denied' = 'ok',
  callId = name,
  why = 'no',
): Event[] {
  const isError = status !== 'ok'
  return [
    { type: 'tool-call', callId, name, input: { id: 1 } },
    { type: 'tool-start', callId, name, attempt: 1 },
    {
      type: 'tool-result',
      callId,
      name,
      output: isError ? [{ type: 'text', text: why }] : [],
      status,
      isError,
      ms: 5,
      overlapMs: 0,
    },
  ]
}

function denied(callId: string, reason?: string): Event[] {
  const [call, , result] = ran('pay', 'denied', callId) as [Event, Event, Event]
  const asked: Event[] = [
    { type: 'approval-request', callId, name: 'pay', input: { id: 1 } },
    { type: 'approval', callId, approved: false, ...(reason && { reason }) },
  ]
  return reason ? [call, ...asked, result] : [call, result]
}

/** What is shown: names of calls, groups in brackets, and kinds of other rows. */
const shown = (log: LogView, items = createItems()) =>
  items(log.rows)
    .map(({ row, calls }) => {
      if (calls) return `[${calls.map(({ name }) => name).join(' ')}]`
      return row.kind === 'call' ? row.name : row.kind
    })
    .join(' ')

test('finished calls in a row are a group', () => {
  expect(shown(logOf(...ran('a'), ...ran('b'), roundEnd, runEnd('completed')))).toBe('[a b] end')
  expect(shown(logOf(...ran('a'), roundEnd, runEnd('completed')))).toBe('a end')
  expect(shown(logOf(...ran('a'), text, ...ran('b'), roundEnd, runEnd('completed')))).toBe('a text b end')
})

test('failed calls are never in a group', () => {
  const log = logOf(...ran('a'), ...ran('b'), ...ran('c', 'failed'), ...ran('d'), ...ran('e'), roundEnd, text)
  expect(shown(log)).toBe('[a b] c [d e] text')
})

test('calls that were blocked for the same reason are a group of their own', () => {
  const events = [
    ...ran('a'),
    ...ran('b'),
    ...ran('c', 'blocked'),
    ...ran('d', 'blocked'),
    ...ran('e', 'blocked', 'e', 'too much'),
    ...ran('f'),
  ]
  expect(shown(logOf(...events, roundEnd, text))).toBe('[a b] [c d] e f text')
})

test('the calls of the last round stay as they are until something follows', () => {
  const items = createItems()
  const log = logOf()
  let seq = 2
  const add = (...events: Event[]) => {
    for (const event of events) applyEntry(log, { seq: ++seq, at: 2000 + seq, event })
    return shown(log, items)
  }
  const [calling, starting, result] = ran('b') as [Event, Event, Event]
  expect(add(...ran('a'), calling, starting)).toBe('a b')
  expect(add(...ran('c', 'failed'), ...ran('d'))).toBe('a b c d')
  expect(add(result)).toBe('a b c d')
  expect(add(roundEnd, { ...roundStart, round: 2 } as Event, ...ran('e').slice(0, 2))).toBe('[a b] c d e')
  expect(add(...ran('e').slice(2))).toBe('[a b] c d e')
  expect(add(text)).toBe('[a b] c [d e] text')
})

test('images stay visible', () => {
  const log = logOf(...ran('a'), ...ran('b'), roundEnd, runEnd('completed'))
  const call = log.rows.find((row) => row.kind === 'call')
  if (call?.result)
    call.result = { ...call.result, output: [{ type: 'image', data: '', mediaType: 'image/png' }] }
  expect(shown(log)).toBe('a b end')
})

test('repeats of a call that a user denied are folded into the first', () => {
  const log = logOf(...denied('1', 'no'), text, ...denied('2'), text, ...denied('3', 'no'), roundEnd, text)
  expect(shown(log)).toBe('pay text text text')
  // Without a decision of a user, each says why.
  expect(shown(logOf(...denied('1'), ...denied('2'), roundEnd, text))).toBe('pay pay text')
})

test('long rows of calls are split, and what is final is not read again', () => {
  const log = logOf(...Array.from({ length: 250 }, (_, index) => ran(`c${index}`)).flat(), roundEnd, text)
  const items = createItems()
  expect(items(log.rows).map(({ calls }) => calls?.length)).toEqual([100, 100, 50, undefined])
  let reads = 0
  const counted = new Proxy(log.rows, {
    get(rows, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads++
      return Reflect.get(rows, name)
    },
  })
  expect(items(counted)).toHaveLength(4)
  expect(reads).toBeLessThan(10)
})

test('follows rows that are replaced', () => {
  const items = createItems()
  const log = logOf(...ran('a'), ...ran('b'), text, ...ran('c'), roundEnd, runEnd('completed'))
  expect(shown(log, items)).toBe('[a b] text c end')
  log.rows.splice(2)
  expect(shown(log, items)).toBe('a b')
  log.rows.splice(0)
  expect(shown(log, items)).toBe('')
})
