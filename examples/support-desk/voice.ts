import { flite, listener, type Voice, voice } from '@millrace/voice'
import { isMillraceError } from 'millrace'

/** The desk speaks and listens, as far as what that takes is installed: the page shows no more buttons than that. */
export function deskVoice(): Voice | undefined {
  const speech = ifInstalled(flite)
  return speech && voice({ speech, listener: ifInstalled(listener) })
}

function ifInstalled<Part>(make: () => Part): Part | undefined {
  try {
    return make()
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input') return undefined
    throw error
  }
}
