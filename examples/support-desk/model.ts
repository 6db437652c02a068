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
  const why = found ? 'No API key and no local model was found' : 'MILLRACE_MODEL is set'
  const about = `${why}, so a simulator answers, by keyword. The tools are real; token counts are simulated.`
  return { ...(await scriptedProvider()), about }
}
