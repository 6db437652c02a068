import type { Listener, Speech, VoiceOptions } from '@millrace/voice'
import { voice } from '@millrace/voice'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { chatOf } from '../page/chat.test-kit.ts'
import { openDesk } from '../page/desk.ts'
import { describePage, screenshot } from '../page/page.test-kit.ts'

/** Speaks any text as a tone of 60 ms per character. */
const tone: Speech = {
  async *synthesize(text) {
    const length = text.length * 60 * 16
    yield {
      sampleRate: 16_000,
      pcm: Int16Array.from({ length }, (_, index) => 16_000 * Math.sin((index * 2 * Math.PI * 440) / 16_000)),
    }
  },
}

/** Transcribes any audio as the same text. */
const anything: Listener = {
  listen({ sampleRate, onEvent }) {
    let samples = 0
    let isDone = false
    return {
      push(pcm) {
        const isLoud = pcm.some((sample) => Math.abs(sample) > 500)
        if (isDone || (samples === 0 && !isLoud)) return
        const ms = (samples / sampleRate) * 1000
        onEvent({ type: 'speech', atMs: ms, ms })
        samples += pcm.length
        if (ms < 500) return
        isDone = true
        onEvent({ type: 'silence', atMs: ms, ms })
        onEvent({ type: 'transcript', text: 'Where is my parcel?', ms })
      },
      partialTranscript: async () => (samples > 0 ? 'Where is' : ''),
      close() {},
    }
  },
}

const answer = 'It is on its way to you. It will arrive tomorrow before noon. Someone has to be at home.'

async function spokenDesk(options: Partial<VoiceOptions> = {}, script: string[] = [answer, answer, answer]) {
  const records: { readonly words: number; readonly wordsPlayed: number; readonly outcome: string }[] = []
  const speaking = voice({ speech: tone, onRecord: (record) => records.push(record), ...options })
  onTestFinished(() => speaking.close())
  return { ...(await openDesk({ script, app: { voice: speaking } })), records }
}

/** Measures the audio output of the page. */
async function tap(page: Page) {
  await page.addInitScript(() => {
    const taps: AnalyserNode[] = []
    type Connect = (this: AudioNode, to: unknown, ...rest: unknown[]) => unknown
    const { prototype } = AudioNode
    const connect = prototype.connect as Connect
    prototype.connect = function (this: AudioNode, to: unknown, ...rest: unknown[]) {
      if (to instanceof AudioDestinationNode) {
        const analyser = new AnalyserNode(this.context, { fftSize: 1024 })
        taps.push(analyser)
        connect.call(this, analyser)
      }
      return connect.call(this, to, ...rest)
    } as typeof prototype.connect
    Object.assign(window, { taps })
  })
  await page.reload()
  return () =>
    page.evaluate(() => {
      const { taps } = window as unknown as { taps: AnalyserNode[] }
      const levels = taps.map((analyser) => {
        // A closed analyser keeps its last values.
        if (analyser.context.state === 'closed') return 0
        const samples = new Float32Array(analyser.fftSize)
        analyser.getFloatTimeDomainData(samples)
        return Math.max(...samples.map(Math.abs))
      })
      return Math.max(0, ...levels)
    })
}

const marked = (page: Page) =>
  page.evaluate(() => [...(CSS.highlights.get('spoken') ?? [])].map(String).join('|'))

describePage(
  'a server with a voice',
  (visit) => {
    test('speaks the answer while it is shown, and is silenced by Escape', async () => {
      const desk = await spokenDesk()
      const page = await visit(desk.url)
      const level = await tap(page)
      const chat = chatOf(page)
      const speaker = chat.button('Speak answers')
      expect(await speaker.getAttribute('aria-pressed')).toBe('false')
      await speaker.click()
      expect(await speaker.getAttribute('aria-pressed')).toBe('true')
      await chat.say('Where is my parcel?')
      await expect.poll(level).toBeGreaterThan(0.3)
      // In the text itself.
      await expect.poll(() => marked(page)).toBe('It will arrive tomorrow before noon.')
      await screenshot(page, 'chat-spoken')
      await page.keyboard.press('Escape')
      await expect.poll(level).toBe(0)
      await chat
        .rows('text')
        .getByText(/Never heard: /)
        .waitFor()
      await expect.poll(() => marked(page)).toBe('')
      const heard = (await desk.app.thread(chat.threadId()).read()).flatMap(({ event }) =>
        event.type === 'playback' ? [event] : [],
      )
      expect(heard.at(-1)).toMatchObject({ round: 1 })
      expect(heard.at(-1)?.chars).toBeGreaterThan(20)
      expect(heard.at(-1)?.chars).toBeLessThan(62)
      await expect.poll(() => desk.records.map(({ outcome }) => outcome)).toEqual(['interrupted'])
      await screenshot(page, 'chat-not-heard')
    })

    test('speaks from the first word of a thread to its last, and stays on for the next', async () => {
      const desk = await spokenDesk({}, ['Good day.', 'Good night.'])
      const page = await visit(desk.url)
      const chat = chatOf(page)
      await chat.button('Speak answers').waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('v')
      for (const count of [1, 2]) {
        await page.getByText('How can I help?').waitFor()
        await chat.say('Hello')
        await expect.poll(() => desk.records).toHaveLength(count)
        expect(desk.records.at(-1)).toMatchObject({ words: 2, wordsPlayed: 2, outcome: 'completed' })
        await page.goto(`${desk.url}#/`)
      }
    })

    test('is stopped by the button even after the run has ended, and can be switched off', async () => {
      const desk = await spokenDesk()
      const page = await visit(desk.url)
      const level = await tap(page)
      const chat = chatOf(page)
      await chat.button('Speak answers').click()
      await chat.say('Where is my parcel?')
      await chat.ends(1)
      await expect.poll(level).toBeGreaterThan(0.3)
      await chat.button('Stop').click()
      await expect.poll(level).toBe(0)
      await expect.poll(() => chat.button('Stop').count()).toBe(0)
      await chat.say('And now?')
      await expect.poll(level).toBeGreaterThan(0.3)
      await chat.button('Speak answers').click()
      await expect.poll(level).toBe(0)
      expect(await chat.button('Speak answers').getAttribute('aria-pressed')).toBe('false')
    })

    test('continues where it was when a microphone is switched on and off', async () => {
      // Long enough to be still playing when the last button is pressed.
      const sentences = Array.from({ length: 12 }, (_, at) => `Step ${at + 1} of the long list.`)
      const listener = { listen: () => ({ push() {}, partialTranscript: async () => '', close() {} }) }
      const desk = await spokenDesk({ listener }, [sentences.join(' ')])
      const page = await visit(desk.url, { permissions: ['microphone'] })
      const chat = chatOf(page)
      await chat.button('Speak answers').click()
      await chat.say('What do I do?')
      await expect.poll(() => marked(page)).toBe(sentences[1])
      for (const times of [1, 2]) {
        await chat.button('Use microphone').click()
        await expect.poll(() => desk.records.length).toBe(times)
        await expect.poll(async () => sentences.indexOf(await marked(page))).toBeGreaterThan(0)
      }
      await expect.poll(() => desk.records.at(-1)?.outcome).toBe('completed')
      // It never started over.
      const [first, second, third] = desk.records.map(({ words }) => words)
      expect(first).toBe(12 * 6)
      expect(second).toBeLessThan(12 * 6)
      expect(third).toBeLessThan(12 * 6)
      const entries = await desk.app.thread(chat.threadId()).read()
      expect(entries.filter(({ event }) => event.type === 'playback')).toEqual([])
    })

    test('transcribes the microphone and speaks the answer', async () => {
      const desk = await spokenDesk({ listener: anything })
      const page = await visit(desk.url, { permissions: ['microphone'] })
      const chat = chatOf(page)
      await chat.say('Hello')
      await chat.ends(1)
      await chat.button('Speak answers').click()
      await chat.button('Use microphone').click()
      await page.getByText(/^You: /).waitFor()
      await chat.rows('input').getByText('Where is my parcel?').waitFor()
      await expect.poll(() => desk.records.at(-1)?.outcome).toBe('completed')
    })

    test('shows an error if the microphone is not permitted, and still speaks', async () => {
      const desk = await spokenDesk({ listener: anything })
      const page = await visit(desk.url)
      await page.addInitScript(() => {
        navigator.mediaDevices.getUserMedia = () =>
          Promise.reject(new DOMException('Permission denied', 'NotAllowedError'))
      })
      await page.reload()
      const chat = chatOf(page)
      await chat.say('Hello')
      await chat.ends(1)
      await chat.button('Speak answers').click()
      await chat.button('Use microphone').click()
      await page.getByText(/microphone access was denied: allow it/).waitFor()
      const pressed = (name: string) => chat.button(name).getAttribute('aria-pressed')
      await expect.poll(() => pressed('Use microphone')).toBe('false')
      expect(await pressed('Speak answers')).toBe('true')
      await chat.say('Still there?')
      await expect.poll(() => desk.records.at(-1)?.outcome).toBe('completed')
    })
  },
  { args: ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'] },
)

describePage('a server without a voice', (visit) => {
  test('shows no voice buttons and loads no voice code', async () => {
    const desk = await openDesk({ script: ['Hello.'] })
    const page = await visit(desk.url)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.reload()
    const chat = chatOf(page)
    await chat.say('Hi')
    await chat.ends(1)
    expect(await chat.button('Speak answers').count()).toBe(0)
    expect(await chat.button('Use microphone').count()).toBe(0)
    expect(asked.filter((path) => path.endsWith('.js'))).toHaveLength(1)
  })
})
