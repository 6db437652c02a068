import { detectModel, type Model } from 'millrace'
import { scriptedProvider } from './scripted.ts'

/** The detected model, or a scripted one. */
export interface DeskModel {
  readonly model: Model
  /** A line to print. */
  readonly about: string
  close(): Promise<void>
}

export async function deskModel({ MILLRACE_MODEL } = process.env): Promise<DeskModel> {
  const found = MILLRACE_MODEL === 'simulator' ? undefined : await detectModel()
  if (found?.model) return { model: found.model, about: `Model: ${found.why}.`, close: async () => {} }
  const why = found ? 'since no API key and no local model was found' : 'as set by MILLRACE_MODEL'
  const about = `Model: the provider simulator, ${why}. It answers by keyword over a real socket; the tools are real.`
  return { ...(await scriptedProvider()), about }
}
