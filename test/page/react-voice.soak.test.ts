import { type Listener, type Speech, voice } from '@millrace/voice'
import { describe, expect, onTestFinished, test } from 'vitest'
import { describePage } from './page.test-kit.ts'
import { openReactDesk, reactVersions } from './react.test-kit.ts'

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

/** Transcribes the first half second that is not silent as the same text. */
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

describe.each(reactVersions)('React %s', (react) => {
  describePage(
    'useVoice()',
    (visit) => {
      test('sends what the user says, and plays the answer', async () => {
        const records: { readonly outcome: string }[] = []
        const speaking = voice({
          speech: tone,
          listener: anything,
          onRecord: (record) => records.push(record),
        })
        onTestFinished(() => speaking.close())
        const { url, app } = await openReactDesk(
          react,
          { script: ['It will arrive tomorrow before noon.'], app: { voice: speaking } },
          'voice.tsx',
        )
        const page = await visit(url, { permissions: ['microphone'] })
        await page.getByRole('button', { name: 'Talk' }).click()
        await page.getByLabel('State').getByText('open').waitFor()
        await expect.poll(() => page.evaluate(() => window.microphoneLevel())).toBeGreaterThan(0)
        await page.getByText('Where is my parcel?').waitFor()
        await page.getByLabel('Sentence').getByText('It will arrive tomorrow before noon.').waitFor()
        await expect.poll(() => records.map(({ outcome }) => outcome)).toEqual(['completed'])
        await expect.poll(() => page.getByLabel('Sentence').textContent()).toBe('')
        await page.getByRole('button', { name: 'Hang up' }).click()
        await page.getByLabel('State').getByText('closed').waitFor()
        expect(await page.getByLabel('Error').textContent()).toBe('')
        expect((await app.threads()).threads).toHaveLength(1)
      })
    },
    { args: ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'] },
  )
})
