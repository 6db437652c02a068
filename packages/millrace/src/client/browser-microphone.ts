import { checkOptions, MillraceError, messageOf, someText } from '../protocol/index.ts'
import type { WorkletOptions } from './browser-audio.ts'
import { audioError, openContext, resumeOnGesture, workletTable } from './browser-audio.ts'
import type { Microphone } from './microphone.ts'

export interface BrowserMicrophoneOptions extends WorkletOptions {
  /**
   * From `navigator.mediaDevices.enumerateDevices()`. Defaults to the system's default microphone.
   */
  readonly deviceId?: string | undefined
}

const op = 'client.browserMicrophone'
const table = { ...workletTable, deviceId: someText }

/**
 * The microphone of a browser, with echo cancellation. The browser asks the user when it is opened.
 */
export function browserMicrophone(options: BrowserMicrophoneOptions = {}): Microphone {
  checkOptions(options, table, { op, what: 'browserMicrophone(): the option' })
  let release = async () => {}
  let isClosed = false

  return {
    async open({ sampleRate, onAudio, onEnd }) {
      const stream = await requestStream(options)
      const stop = () => {
        for (const track of stream.getTracks()) track.stop()
      }
      release = async () => stop()
      if (isClosed) return stop()
      const { context, source } = await sourceOf(stream, sampleRate, options)
      const node = new AudioWorkletNode(context, 'millrace-microphone', {
        numberOfOutputs: 0,
        channelCount: 1,
        channelCountMode: 'explicit',
        processorOptions: { sampleRate },
      })
      node.port.onmessage = ({ data }: { readonly data: Int16Array }) => onAudio(data)
      source.connect(node)
      const stopResuming = resumeOnGesture(context)
      for (const track of stream.getTracks())
        track.onended = () => onEnd(audioError(op, 'the microphone was disconnected'))
      release = async () => {
        stopResuming()
        stop()
        node.port.onmessage = null
        node.port.postMessage('close')
        source.disconnect()
        await context.close()
      }
      if (isClosed) await release()
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await release()
    },
  }
}

async function requestStream({ deviceId }: BrowserMicrophoneOptions): Promise<MediaStream> {
  const media = globalThis.navigator?.mediaDevices
  if (!media?.getUserMedia)
    throw audioError(
      op,
      'microphone access is not available: browsers only provide it over https and on localhost',
    )
  const audio = {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    channelCount: 1,
    ...(deviceId !== undefined && { deviceId: { exact: deviceId } }),
  }
  return media.getUserMedia({ audio }).catch((thrown: unknown) => {
    throw microphoneError(thrown)
  })
}

/** The error names are those of Media Capture and Streams, 10.2. */
function microphoneError(thrown: unknown): MillraceError {
  const { name } = thrown as Error
  if (name === 'NotAllowedError' || name === 'SecurityError')
    return new MillraceError({
      op,
      code: 'auth',
      message: 'microphone access was denied: allow it for this page in the browser',
      cause: thrown,
    })
  if (name === 'NotFoundError' || name === 'OverconstrainedError')
    return audioError(op, 'no microphone found: connect one', thrown)
  return audioError(op, `cannot use the microphone: ${messageOf(thrown)}`, thrown)
}

/**
 * Records at the sample rate of the voice line if the browser can. Otherwise the worklet resamples.
 */
async function sourceOf(stream: MediaStream, sampleRate: number, options: WorkletOptions) {
  const context = await openContext(op, sampleRate, options)
  try {
    return { context, source: context.createMediaStreamSource(stream) }
  } catch {
    // Firefox: "Connecting AudioNodes from AudioContexts with different sample-rate is currently
    // not supported."
    await context.close()
    const fallback = await openContext(op, undefined, options)
    return { context: fallback, source: fallback.createMediaStreamSource(stream) }
  }
}
