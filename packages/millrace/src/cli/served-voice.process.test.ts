import { expect, onTestFinished, test } from 'vitest'
import { readAudioFrame } from '../protocol/index.ts'
import { built, makeHome } from './cli.test-kit.ts'

const home = makeHome()
home.write(
  'agents.ts',
  `import { agent } from ${JSON.stringify(built('index'))}
   import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
   export default agent({ name: 'desk', model: scriptedModel(() => 'The desk is open. Come in.') })`,
)

/** Serves with these flags until the test ends. */
async function serving(...args: string[]) {
  const server = home.start(['serve', 'agents.ts', '--data', ':memory:', '--port', '0', ...args])
  onTestFinished(async () => {
    server.child.kill('SIGINT')
    expect((await server.ended).exit).toBe(0)
  })
  await server.see(/listening at http:\S+\n/)
  const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
  return { ...server, url }
}

test('with --voice, threads are spoken, and the server prints that it listens', async () => {
  const { url, stderr } = await serving('--voice')
  expect(await (await fetch(`${url}/voice`)).json()).toEqual({ speak: true, listen: true })
  expect(stderr()).toContain('voice: speaking with flite and listening')

  const headers = { 'content-type': 'application/json' }
  const { id } = await (await fetch(`${url}/threads`, { method: 'POST', headers, body: '{}' })).json()
  const socket = new WebSocket(`${url.replace('http', 'ws')}/threads/${id}/socket`)
  socket.binaryType = 'arraybuffer'
  onTestFinished(() => socket.close())
  const sentences: string[] = []
  let loudest = 0
  await new Promise<void>((resolve, reject) => {
    socket.onclose = () => reject(new Error('the socket was closed'))
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: 'voice', speak: true, sampleRate: 16_000 }))
      socket.send(JSON.stringify({ type: 'send', message: 'Hello?' }))
    }
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string') {
        const frame = readAudioFrame(new Uint8Array(data))
        if (typeof frame === 'string') return reject(new Error(frame))
        loudest = frame.pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), loudest)
        return
      }
      const { type, text } = JSON.parse(data)
      if (type === 'voice_sentence') sentences.push(text)
      if (type === 'voice_end') resolve()
    }
  })
  socket.onclose = null
  expect(sentences).toEqual(['The desk is open.', 'Come in.'])
  expect(loudest).toBeGreaterThan(3000)
})

test('without --voice, there is no voice', async () => {
  const { url } = await serving()
  expect(await (await fetch(`${url}/voice`)).json()).toEqual({ speak: false, listen: false })
})

test.each([
  ['openai', /--voice openai needs an API key: set OPENAI_API_KEY/],
  ['espeak', /espeak-ng not found: install it/],
])(
  'without the requirements of %s the server does not start, and says what is missing',
  async (name, problem) => {
    const env = { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', PATH: home.folder }
    const { ended } = home.start(
      ['serve', 'agents.ts', '--data', ':memory:', '--port', '0', '--voice', name],
      {
        env,
      },
    )
    const { exit, stderr } = await ended
    expect(exit).toBeGreaterThan(0)
    expect(stderr).toMatch(problem)
  },
)
