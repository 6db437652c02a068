import type { Listener, Speech, Voice } from '@millrace/voice'
import { isMillraceError, MillraceError } from '../protocol/index.ts'
import type { Flags } from './flags.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'

/** Opens the voice named by `--voice`, with a listener if its packages are installed. */
export async function openVoice(
  name: NonNullable<Flags['voice']>,
  { note }: Pick<Output, 'note'>,
): Promise<Voice> {
  // Loaded on demand: most servers do not use it.
  const { espeak, flite, listener, openaiSpeech, voice } = await loadPackage(
    () => import('@millrace/voice'),
    {
      flag: '--voice',
      install: '@millrace/voice',
    },
  )
  const speech = name === 'espeak' ? espeak() : name === 'openai' ? openaiSpeech() : flite()
  await checkSpeaks(name, speech)
  const { listening, why } = openListener(listener)
  note(
    listening
      ? `voice: speaking with ${name} and listening; see the speaker and the microphone on the page`
      : `voice: speaking with ${name}, not listening: ${why}`,
  )
  return voice({ speech, listener: listening, onError: ({ message }) => note(`voice: ${message}`) })
}

/** Reports missing parts at start, not when the first user turns speech on. */
async function checkSpeaks(name: string, speech: Speech): Promise<void> {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseURL } = process.env
  if (name === 'openai' && !key?.trim() && !baseURL?.trim())
    throw new MillraceError({
      op: 'millrace',
      code: 'auth',
      message: '--voice openai needs an API key: set OPENAI_API_KEY',
    })
  if (name !== 'espeak') return
  // It is installed if it can speak, which takes about 20 ms.
  for await (const _ of speech.synthesize('Yes', { signal: AbortSignal.timeout(10_000) })) break
}

/** Listening needs optional packages. Without them, `why` says what to install. */
function openListener(listener: () => Listener): { readonly listening?: Listener; readonly why?: string } {
  try {
    return { listening: listener() }
  } catch (error) {
    if (!isMillraceError(error) || error.code !== 'invalid_input') throw error
    return { why: error.message }
  }
}
