import { expect, test } from 'vitest'
import { type BargeIn, bargeIn } from './barge-in.ts'

/** Reports speech up to `ms`, as a listener does, and returns the actions with their times. */
function speak(machine: BargeIn, { from = 100, to }: { from?: number; to: number }) {
  const answers: string[] = []
  for (let ms = from; ms <= to; ms += 100) {
    const action = machine.speech(ms)
    if (action) answers.push(`${action} at ${ms}`)
  }
  return answers
}

test('speech is checked after 300 ms and not before', () => {
  expect(speak(bargeIn(), { to: 400 })).toEqual(['check at 300'])
  expect(speak(bargeIn({ afterMs: 200 }), { to: 300 })).toEqual(['check at 200'])
})

test('words interrupt', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  expect(machine.partialTranscript('Stop, that is')).toBe('interrupt')
  expect(speak(machine, { from: 400, to: 3000 })).toEqual([])
  machine.silence()
  expect(machine.transcript('Stop, that is not what I asked for.')).toBe('interrupt')
})

test('a back-channel phrase neither pauses nor interrupts, and is ignored', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  expect(machine.partialTranscript('Yeah, o')).toBe(undefined)
  machine.silence()
  expect(machine.transcript('Yeah, okay.')).toBe(undefined)
})

test('checks again while speech continues, in case a back-channel phrase was only its start', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.partialTranscript('Yeah')
  expect(speak(machine, { from: 400, to: 600 })).toEqual(['check at 600'])
  expect(machine.partialTranscript('Yeah, but no')).toBe('interrupt')
})

test('unrecognized speech pauses at once, and playback resumes if it was nothing', () => {
  for (const transcript of ['', 'Uh-huh.']) {
    const machine = bargeIn()
    speak(machine, { to: 300 })
    expect(machine.partialTranscript('')).toBe('pause')
    machine.silence()
    expect(machine.transcript(transcript)).toBe('resume')
  }
})

test('a single word may be misrecognized: it pauses, and interrupts once it is confirmed', () => {
  for (const [next, transcript] of [
    ['Stop that', 'Stop that.'],
    ['Stop', 'Stop.'],
  ] as const) {
    const machine = bargeIn()
    speak(machine, { to: 300 })
    expect(machine.partialTranscript('Stop')).toBe('pause')
    speak(machine, { from: 400, to: 600 })
    expect(machine.partialTranscript(next)).toBe(next === 'Stop' ? undefined : 'interrupt')
    machine.silence()
    expect(machine.transcript(transcript)).toBe('interrupt')
  }
})

test('speech that is not recognized at first interrupts as soon as it is', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.partialTranscript('')
  expect(speak(machine, { from: 400, to: 700 })).toEqual(['check at 600'])
  expect(machine.partialTranscript('Wait a moment')).toBe('interrupt')
})

test('a pause ends as soon as the speech is known to be a back-channel phrase', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.partialTranscript('')
  speak(machine, { from: 400, to: 600 })
  expect(machine.partialTranscript('Mm-hmm')).toBe('resume')
  machine.silence()
  expect(machine.transcript('Mm-hmm.')).toBe(undefined)
})

test('pauses if the partial transcript does not arrive', () => {
  const machine = bargeIn()
  expect(speak(machine, { to: 2000 })).toEqual(['check at 300', 'pause at 600', 'interrupt at 1500'])
})

test('with a listener without partial transcripts it pauses, and decides at the end', () => {
  const machine = bargeIn()
  const answers = speak(machine, { to: 300 })
  expect(answers).toEqual(['check at 300'])
  expect(machine.partialTranscript('')).toBe('pause')
  expect(speak(machine, { from: 400, to: 1000 })).toEqual(['check at 600'])
  machine.silence()
  expect(machine.transcript('Not that one.')).toBe('interrupt')
})

test('long agreement does not interrupt, but long speech after it does', () => {
  const machine = bargeIn()
  for (let ms = 100; ms <= 3000; ms += 100) {
    const action = machine.speech(ms)
    expect(action === undefined || action === 'check').toBe(true)
    if (action) expect(machine.partialTranscript('Yeah, yeah, right')).toBe(undefined)
  }
  expect(speak(machine, { from: 3100, to: 6000 })).toEqual([
    'check at 3300',
    'pause at 3600',
    'interrupt at 4500',
  ])
})

test('short words interrupt when their transcript arrives', () => {
  const machine = bargeIn()
  expect(speak(machine, { to: 200 })).toEqual([])
  machine.silence()
  expect(machine.transcript('No!')).toBe('interrupt')
})

test('does not resume while the user has started to speak again', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.partialTranscript('')
  machine.silence()
  machine.speech(100)
  expect(machine.transcript('')).toBe(undefined)
  machine.silence()
  expect(machine.transcript('')).toBe('resume')
})

test('ignores a partial transcript after the end of the utterance', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.silence()
  expect(machine.partialTranscript('Stop that')).toBe(undefined)
  expect(machine.transcript('')).toBe(undefined)
})

test('after a reset nothing is paused, interrupted or pending', () => {
  const machine = bargeIn()
  speak(machine, { to: 300 })
  machine.partialTranscript('Stop that')
  machine.reset()
  expect(speak(machine, { to: 400 })).toEqual(['check at 300'])
  machine.partialTranscript('')
  machine.silence()
  machine.reset()
  speak(machine, { to: 300 })
  expect(machine.partialTranscript('')).toBe('pause')
  machine.silence()
  expect(machine.transcript('')).toBe('resume')
})

test('uses the back-channel phrases of the language, or of all languages', () => {
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

test('rejects invalid options', () => {
  expect(() => bargeIn({ afterMs: 0 })).toThrow(/the option 'afterMs' must be a positive number/)
  expect(() => bargeIn({ backChannels: 'yeah' as never })).toThrow(/must be a list of phrases/)
  expect(() => bargeIn({ afterms: 3 } as never)).toThrow(/did you mean 'afterMs'/)
})
