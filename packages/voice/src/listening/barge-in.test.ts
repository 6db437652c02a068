import { expect, test } from 'vitest'
import { type BargeIn, bargeIn } from './barge-in.ts'

/** Tells of speech up to `ms`, as a listener does, and gives what was answered when. */
function speak(machine: BargeIn, { from = 100, to }: { from?: number; to: number }) {
  const answers: string[] = []
  for (let ms = from; ms <= to; ms += 100) {
    const action = machine.speech(ms)
    if (action) answers.push(`${action} at ${ms}`)
  }
  return answers
}

test('speech is suspect after 300 ms and not before', () => {
  expect(speak(bargeIn(), { to: 400 })).toEqual(['suspect at 300'])
  expect(speak(bargeIn({ afterMs: 200 }), { to: 300 })).toEqual(['suspect at 200'])
})

test('words interrupt', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  expect(machine.words('Stop, that is')).toBe('interrupt')
  expect(speak(machine, { from: 400, to: 3000 })).toEqual([])
  machine.silence()
  expect(machine.transcript('Stop, that is not what I asked for.')).toBe('interrupt')
})

test('a sign of listening neither pauses nor interrupts, and is for nobody', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  expect(machine.words('Yeah, o')).toBe(undefined)
  machine.silence()
  expect(machine.transcript('Yeah, okay.')).toBe(undefined)
})

test('it asks again while somebody goes on, and hears what the sign of listening was the beginning of', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.words('Yeah')
  expect(speak(machine, { from: 400, to: 600 })).toEqual(['suspect at 600'])
  expect(machine.words('Yeah, but no')).toBe('interrupt')
})

test('what is not understood pauses at once, and goes on when nothing was meant', () => {
  for (const transcript of ['', 'Uh-huh.']) {
    const machine = bargeIn()
    speak(machine, { to: 300 })
    expect(machine.words('')).toBe('pause')
    machine.silence()
    expect(machine.transcript(transcript)).toBe('resume')
  }
})

test('a single word may be a misheard part of another: it pauses, and interrupts when there are more or it was all', () => {
  for (const [next, transcript] of [
    ['Stop that', 'Stop that.'],
    ['Stop', 'Stop.'],
  ] as const) {
    const machine = bargeIn()
    speak(machine, { to: 300 })
    expect(machine.words('Stop')).toBe('pause')
    speak(machine, { from: 400, to: 600 })
    expect(machine.words(next)).toBe(next === 'Stop' ? undefined : 'interrupt')
    machine.silence()
    expect(machine.transcript(transcript)).toBe('interrupt')
  }
})

test('what is not understood at first interrupts as soon as it is', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.words('')
  expect(speak(machine, { from: 400, to: 700 })).toEqual(['suspect at 600'])
  expect(machine.words('Wait a moment')).toBe('interrupt')
})

test('a pause ends as soon as it is known for a sign of listening', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.words('')
  speak(machine, { from: 400, to: 600 })
  expect(machine.words('Mm-hmm')).toBe('resume')
  machine.silence()
  expect(machine.transcript('Mm-hmm.')).toBe(undefined)
})

test('an answer that does not come is not waited for', () => {
  const machine = bargeIn()
  expect(speak(machine, { to: 2000 })).toEqual(['suspect at 300', 'pause at 600', 'interrupt at 1500'])
})

test('a listener that knows words only at the end pauses, and decides then', () => {
  const machine = bargeIn()
  const answers = speak(machine, { to: 300 })
  expect(answers).toEqual(['suspect at 300'])
  expect(machine.words('')).toBe('pause')
  expect(speak(machine, { from: 400, to: 1000 })).toEqual(['suspect at 600'])
  machine.silence()
  expect(machine.transcript('Not that one.')).toBe('interrupt')
})

test('long agreement does not interrupt, and long speech behind it does', () => {
  const machine = bargeIn()
  for (let ms = 100; ms <= 3000; ms += 100) {
    const action = machine.speech(ms)
    expect(action === undefined || action === 'suspect').toBe(true)
    if (action) expect(machine.words('Yeah, yeah, right')).toBe(undefined)
  }
  expect(speak(machine, { from: 3100, to: 6000 })).toEqual([
    'suspect at 3300',
    'pause at 3600',
    'interrupt at 4500',
  ])
})

test('short words interrupt when they are understood', () => {
  const machine = bargeIn()
  expect(speak(machine, { to: 200 })).toEqual([])
  machine.silence()
  expect(machine.transcript('No!')).toBe('interrupt')
})

test('it does not go on while somebody has begun to speak again', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.words('')
  machine.silence()
  machine.speech(100)
  expect(machine.transcript('')).toBe(undefined)
  machine.silence()
  expect(machine.transcript('')).toBe('resume')
})

test('an answer that comes after the end is left to the transcript', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.silence()
  expect(machine.words('Stop that')).toBe(undefined)
  expect(machine.transcript('')).toBe(undefined)
})

test('after a reset nothing is paused, interrupted or awaited', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.words('Stop that')
  machine.reset()
  expect(speak(machine, { to: 400 })).toEqual(['suspect at 300'])
  machine.words('')
  machine.silence()
  machine.reset()
  speak(machine, { to: 300 })
  expect(machine.words('')).toBe('pause')
  machine.silence()
  expect(machine.transcript('')).toBe('resume')
})

test('signs of listening are those of the language, or of all', () => {
  const said = (text: string, language?: string) => {
    const machine = bargeIn({ language })
    speak(machine, { to: 300 })
    machine.silence()
    return machine.transcript(text)
  }
  expect(said('Genau.', 'de-AT')).toBe(undefined)
  expect(said('Genau.', 'en')).toBe('interrupt')
  expect(said('Genau.')).toBe(undefined)
  expect(said('Genau.', 'tlh')).toBe(undefined)
})

test('misuse says what is wrong', () => {
  expect(() => bargeIn({ afterMs: 0 })).toThrow(/the option 'afterMs' must be a positive number/)
  expect(() => bargeIn({ backChannels: 'yeah' as never })).toThrow(/must be a list of phrases/)
  expect(() => bargeIn({ afterms: 3 } as never)).toThrow(/did you mean 'afterMs'/)
})
