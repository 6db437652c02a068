import { flite, listener, type Voice, voice } from '@millrace/voice'
import { isMillraceError } from 'millrace'

/** Speaks and listens if the packages are installed. The page shows only the buttons that work. */
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
