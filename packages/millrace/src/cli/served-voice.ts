import type { Listener, Speech, Voice } from '@millrace/voice'
import { isMillraceError, MillraceError } from '../protocol/index.ts'
import type { Flags } from './flags.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'

/** The voice that `--voice` names, with ears where what they take is installed. Tells which. */
export async function servedVoice(
  name: NonNullable<Flags['voice']>,
  { tell }: Pick<Output, 'tell'>,
): Promise<Voice> {
  // Most servers are silent, and do not wait for it to load.
  const { espeak, flite, listener, openaiSpeech, voice } = await loadPackage(
    () => import('@millrace/voice'),
    {
      flag: '--voice',
      install: '@millrace/voice',
    },
  )
  const speech = name === 'espeak' ? espeak() : name === 'openai' ? openaiSpeech() : flite()
  await checkSpeaks(name, speech)
  const { ears, why } = earsOf(listener)
  tell(
    ears
      ? `speaks with ${name}, and listens: see the speaker and the microphone on the page`
      : `speaks with ${name}, but does not listen: ${why}`,
  )
  return voice({ speech, listener: ears, onError: ({ message }) => tell(`voice: ${message}`) })
}

/** What is missing is said at once, and not to the first who wants to hear something. */
async function checkSpeaks(name: string, speech: Speech): Promise<void> {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: place } = process.env
  if (name === 'openai' && !key?.trim() && !place?.trim())
    throw new MillraceError({
      op: 'millrace',
      code: 'auth',
      message: '--voice openai needs a key: set OPENAI_API_KEY',
    })
  if (name !== 'espeak') return
  // It is there if it speaks, which takes some 20 ms.
  for await (const _ of speech.synthesize('Yes', { signal: AbortSignal.timeout(10_000) })) break
}

/** Listening takes packages that not everybody wants: whoever has them hears, whoever has not is told how to. */
function earsOf(listener: () => Listener): { readonly ears?: Listener; readonly why?: string } {
  try {
    return { ears: listener() }
  } catch (error) {
    if (!isMillraceError(error) || error.code !== 'invalid_input') throw error
    return { why: error.message }
  }
}
