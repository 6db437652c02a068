import { invalidInput, isObject } from '../protocol/index.ts'

/** Loads an optional package. Rejects with `invalid_input` that says how to install it. */
export async function loadPackage<Module>(
  load: () => Promise<Module>,
  { flag, install }: { readonly flag: string; readonly install: string },
): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    if (!isObject(cause) || cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw invalidInput(
      'millrace',
      `${flag} needs a package that is not installed: run npm install ${install}`,
      cause,
    )
  }
}
