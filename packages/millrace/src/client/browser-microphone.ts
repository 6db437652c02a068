import { checkOptions, MillraceError, messageOf, someText } from '../protocol/index.ts'
import type { WorkletOptions } from './browser-audio.ts'
import { noSound, openContext, resumeOnGesture, workletTable } from './browser-audio.ts'
import type { Microphone } from './microphone.ts'

export interface BrowserMicrophoneOptions extends WorkletOptions {
  /** One of `navigator.mediaDevices.enumerateDevices()`; the usual one if absent. */
  readonly deviceId?: string | undefined
}

const op = 'client.browserMicrophone'
const table = { ...workletTable, deviceId: someText }

/** The microphone of a browser, without the echo of what the page itself plays. The person is asked when it is opened. */
export function browserMicrophone(options: BrowserMicrophoneOptions = {}): Microphone {
  checkOptions(options, table, { op, what: 'browserMicrophone(): the option' })
  let leave = async () => {}
  let isClosed = false

  return {
    async open({ sampleRate, onAudio, onEnd }) {
      const stream = await allowed(options)
      const stop = () => {
        for (const track of stream.getTracks()) track.stop()
      }
      leave = async () => stop()
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
      const forget = resumeOnGesture(context)
      for (const track of stream.getTracks())
        track.onended = () => onEnd(noSound(op, 'the microphone is not there any more'))
      leave = async () => {
        forget()
        stop()
        node.port.onmessage = null
        node.port.postMessage('close')
        source.disconnect()
        await context.close()
      }
      if (isClosed) await leave()
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await leave()
    },
  }
}

async function allowed({ deviceId }: BrowserMicrophoneOptions): Promise<MediaStream> {
  const media = globalThis.navigator?.mediaDevices
  if (!media?.getUserMedia)
    throw noSound(op, 'there is no microphone here: browsers have one over https and on localhost only')
  const audio = {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    channelCount: 1,
    ...(deviceId !== undefined && { deviceId: { exact: deviceId } }),
  }
  return media.getUserMedia({ audio }).catch((thrown: unknown) => {
    throw refusalOf(thrown)
  })
}

/** Media Capture and Streams, 10.2: the names of what can go wrong. */
function refusalOf(thrown: unknown): MillraceError {
  const { name } = thrown as Error
  if (name === 'NotAllowedError' || name === 'SecurityError')
    return new MillraceError({
      op,
      code: 'auth',
      message: 'the microphone may not be used: allow it for this page in the browser',
      cause: thrown,
    })
  if (name === 'NotFoundError' || name === 'OverconstrainedError')
    return noSound(op, 'no microphone was found: plug one in', thrown)
  return noSound(op, `the microphone cannot be used: ${messageOf(thrown)}`, thrown)
}

/** At the line's own rate where the browser can do that; the worklet sees to it where it cannot. */
async function sourceOf(stream: MediaStream, sampleRate: number, options: WorkletOptions) {
  const context = await openContext(op, sampleRate, options)
  try {
    return { context, source: context.createMediaStreamSource(stream) }
  } catch {
    // Firefox: "Connecting AudioNodes from AudioContexts with different sample-rate is currently not supported."
    await context.close()
    const usual = await openContext(op, undefined, options)
    return { context: usual, source: usual.createMediaStreamSource(stream) }
  }
}
