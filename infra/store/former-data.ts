/** Refuses a data folder, a bus or a store of 0.1.0. Only a restore reads their forms. */
export const FORMER_DATA: string =
  'this data was written by a version before 1.0.0: take a backup with the version that wrote it (npm run admin -- backup FOLDER --events), start this version with a new DATA_DIR, or a new bus and database, and restore the backup there (npm run admin -- restore FOLDER)';
